import { Type, type TSchema } from '@sinclair/typebox'
import { PART_SCHEMAS, PlaceSchema, type NumberedPart, type PartType } from '@svc/contract'
import { ErrorBodySchema, ProblemSchema } from '../schemas/error-body.ts'

/** Descriptions of the error statuses, for all operations. */
export const REASONS = {
  400: 'The body or a parameter is not valid',
  401: 'No valid credentials',
  403: 'The credentials or the service do not allow it',
  404: 'Nothing with this name or id exists for the caller',
  409: 'Its state no longer allows this',
  410: 'The log there is no longer kept: read the messages of the session, and continue from their `lastEventId`',
  413: 'The body is too large',
  414: 'A segment of the path is too long',
  415: 'The media type of the body is not supported',
  416: 'The range has no bytes of the file; `content-range` has its size',
  422: 'The `Idempotency-Key` was used with another body',
  429: 'Too many runs or requests; see `Retry-After`',
  499: 'The run was canceled',
  500: 'The run or the service failed',
  503: 'Shutting down, overloaded, or a store is not available; see `Retry-After`, and `Location` if the run will resume'
} as const
const ANY_OTHER = 'Any other refusal or failure'

/** An error status that operations may declare. */
export type ErrorStatus = keyof typeof REASONS

/** The error statuses of starting a run. */
export const RUN_ERRORS = [400, 403, 404, 413, 414, 415, 422, 429, 500, 503] as const

/** Descriptions of reply headers, by name. */
type Headers = Readonly<Record<string, string>>

/** A reply of JSON. */
export function jsonReply<T extends TSchema>(description: string, schema: T, headers: Headers = {}) {
  return { description, headers: describeHeaders(headers), content: { 'application/json': { schema } } }
}

/** A reply without a body. */
export function emptyReply(description: string) {
  return Type.Unsafe<unknown>(Type.Null({ description }))
}

/** A stream of parts; the schema describes the `data` of each message. */
export function eventStreamReply(description: string) {
  const content = { 'text/event-stream': { schema: Type.Unsafe<unknown>(EventPartSchema) } }
  return { description, headers: describeHeaders({ 'x-run-id': RUN_ID }), content }
}

/** A reply of the bytes of a file, of any type. */
export function fileReply(description: string, headers: Headers = {}) {
  const schema = Type.Unsafe<unknown>({ type: 'string', format: 'binary' })
  const all = { etag: 'Identifies the content', 'content-disposition': 'The name of the file', ...headers }
  return { description, headers: describeHeaders(all), content: { '*/*': { schema } } }
}

/** Description of the header `x-run-id`. */
export const RUN_ID = 'The id of the run'

/**
 * The error replies of an operation by status, to spread into its `response`, and `default` for all others. Untyped, since
 * handlers throw errors instead of returning them.
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

/** A part on the wire: discriminated by `type`, numbered by `seq`, which is also the id of its message. */
const EventPartSchema = Type.Unsafe<NumberedPart>({
  title: 'Part',
  description: 'One item of a run’s log',
  discriminator: { propertyName: 'type' },
  oneOf: Object.entries(PART_SCHEMAS).map(([type, schema]) =>
    Type.Composite([PlaceSchema, schema], { title: titleOf(type as PartType) })
  )
})

function titleOf(type: PartType): string {
  const words = [...type.split('.'), 'part']
  return words.map((word) => word[0]?.toUpperCase() + word.slice(1)).join('')
}
