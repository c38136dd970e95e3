import { Type, type TSchema } from '@sinclair/typebox'
import { PART_SCHEMAS, type NumberedPart, type PartType } from '@svc/registry'
import { ErrorBodySchema, ProblemSchema } from '../schemas/error-body.ts'

/** What an error status means, on every operation. */
export const REASONS = {
  400: 'The request does not fit: its body, a parameter, or the JSON itself',
  401: 'No valid credentials',
  403: 'The credentials do not allow it',
  404: 'There is none of this name or id here that is the caller’s',
  409: 'Its state does not allow it any more',
  413: 'The body is too large',
  414: 'A segment of the path is too long',
  415: 'The media type of the body is not taken',
  422: 'The `Idempotency-Key` was used with another body',
  429: 'Too many runs or requests; see `Retry-After`',
  499: 'The run was canceled',
  500: 'The run, or something of the service, failed',
  503: 'Shutting down, overloaded, or a store is not available; see `Retry-After`, and `Location` where the run goes on'
} as const
const ANY_OTHER = 'Any other refusal or failure'

/** A status of an error that operations may declare. */
export type ErrorStatus = keyof typeof REASONS

/** What may become of the start of a run. */
export const RUN_ERRORS = [400, 404, 413, 414, 415, 422, 429, 500, 503] as const

/** Headers of a reply, by name, with what each says. */
type Headers = Readonly<Record<string, string>>

/** A reply of JSON. */
export function jsonReply<T extends TSchema>(description: string, schema: T, headers: Headers = {}) {
  return { description, headers: describeHeaders(headers), content: { 'application/json': { schema } } }
}

/** A reply without a body. */
export function emptyReply(description: string) {
  return Type.Unsafe<unknown>(Type.Null({ description }))
}

/** A stream of parts: the schema is that of the `data` of each message. */
export function eventStreamReply(description: string) {
  const content = { 'text/event-stream': { schema: Type.Unsafe<unknown>(EventPartSchema) } }
  return { description, headers: describeHeaders({ 'x-run-id': RUN_ID }), content }
}

/** What the header `x-run-id` says. */
export const RUN_ID = 'The id of the run'

/**
 * The errors of an operation by status, to be spread into its `response`; every other one is described as `default`.
 * The handler's reply is typed without them: errors are thrown.
 */
export function errorReplies(...statuses: readonly ErrorStatus[]): object {
  const named = statuses.map((status) => [status, errorReply(REASONS[status])])
  return Object.fromEntries([...named, ['default', errorReply(ANY_OTHER)]])
}

function errorReply(description: string) {
  return {
    description,
    content: {
      'application/json': { schema: ErrorBodySchema },
      'application/problem+json': { schema: ProblemSchema }
    }
  }
}

function describeHeaders(headers: Headers) {
  return Object.fromEntries(
    Object.entries(headers).map(([name, description]) => [name, { type: 'string', description }])
  )
}

const seq = Type.Integer({ minimum: 1, description: 'Counts from 1 in each run; the id of the message' })

/** A part as it stands on the wire: told apart by `type`, numbered by `seq`. */
const EventPartSchema = Type.Unsafe<NumberedPart>({
  title: 'Part',
  description: 'One item of the log of a run',
  discriminator: { propertyName: 'type' },
  oneOf: Object.entries(PART_SCHEMAS).map(([type, schema]) =>
    Type.Composite([Type.Object({ seq }), schema], { title: titleOf(type as PartType) })
  )
})

function titleOf(type: PartType): string {
  const words = [...type.split('.'), 'part']
  return words.map((word) => word[0]?.toUpperCase() + word.slice(1)).join('')
}
