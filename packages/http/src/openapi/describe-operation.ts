import { Type } from '@sinclair/typebox'
import { PART_SCHEMAS, PlaceSchema, type NumberedPart, type PartType } from '@svc/contract'
import { bytesReply, eventsReply } from '@svc/surface'
import { ErrorBodySchema, ProblemSchema } from '../schemas/error-body.ts'

const TAG_OF = {
  agent: 'Agents',
  team: 'Teams',
  workflow: 'Workflows',
  registry: 'Registry',
  run: 'Runs',
  file: 'Runs',
  approval: 'Approvals',
  input: 'Inputs',
  schedule: 'Schedules',
  session: 'Sessions',
  health: 'Admin',
  webhook: 'Webhooks',
  delivery: 'Webhooks'
}

/** The format of an event stream. */
export const EVENT_STREAM = `Each message is one part of the run: its \`data\` is the JSON of a \`Part\`, its \`id\` the part's \`seq\`.
Comments (\`:\`) keep the connection awake. The stream ends after a \`finish\` or \`error\` without \`source\`.

\`\`\`
data: {"seq":1,"type":"start","at":1767225600000,"runId":"r1","sessionId":"s1","kind":"agent","name":"support","input":"Hi"}
id: 1

data: {"seq":2,"type":"text","at":1767225600000,"text":"Hello"}
id: 2

\`\`\`

A client that lost its connection continues with \`GET /runs/{runId}/stream\` and \`Last-Event-ID\`.`

/** The format of the event stream of a session. */
export const CHANNEL_STREAM = `Each message is one part of a run of the session, in the order in which the runs had their turns: its \`data\` is the JSON
of a \`Part\` with the \`runId\` of its run, its \`id\` the place in the session. The stream does not end with a run: it continues
with the next one, which any client may start. Comments (\`:\`) keep the connection awake. A run that waits for its turn shows as \`data\` parts named \`queue\`, which have no \`id\`.

\`\`\`
data: {"runId":"r7","seq":2,"type":"text","at":1767225600000,"text":"Hello"}
id: 7.2

\`\`\`

A client that lost its connection continues with \`Last-Event-ID\`. If the log has no such place, or no longer, the answer is 410: read the messages, and
continue from their \`lastEventId\`. The stream ends when the token of its client expires.`

/** The texts of an operation. @param name its words, joined by hyphens: `run-agent`; the last one selects the tag */
export function describeOperation(name: string, summary: string, description?: string) {
  const [verb, ...nouns] = name.split('-')
  const operationId = verb + nouns.map((word) => word[0]?.toUpperCase() + word.slice(1)).join('')
  const noun = nouns.at(-1)?.replace(/ies$/, 'y').replace(/s$/, '') as keyof typeof TAG_OF
  return { operationId, tags: [TAG_OF[noun]], summary, ...(description !== undefined && { description }) }
}

/** The tags of operations, in the order of the page. */
export const TAGS = [
  { name: 'Agents', description: 'Run and list agents' },
  { name: 'Teams', description: 'Run and list teams' },
  { name: 'Workflows', description: 'Run and list workflows' },
  { name: 'Registry', description: 'The names of all runnables' },
  { name: 'Runs', description: 'Follow, read and cancel your own runs, and read their files' },
  { name: 'Approvals', description: 'Approve or deny pending tool calls' },
  { name: 'Inputs', description: 'Answer questions, and give the results of client tools' },
  { name: 'Sessions', description: 'Read, name and follow your own conversations' },
  { name: 'Schedules', description: 'Start runs at given times' },
  { name: 'Webhooks', description: 'Report your runs to other services' },
  { name: 'Admin', description: 'The runs of all owners, and the registered runnables' },
  { name: 'Health', description: 'Liveness and readiness' }
]

/** Descriptions of the error statuses, for all operations. */
export const REASONS = {
  400: 'The body or a parameter is not valid',
  401: 'No valid credentials',
  403: 'The credentials or the service do not allow it',
  404: 'Nothing with this name or id exists for the caller',
  409: 'Its state no longer allows this',
  410: 'The log has no such place, or no longer: read the record of the run, or the messages of the session, and continue from there',
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

/** A reply without a body. */
export function emptyReply(description: string) {
  return Type.Unsafe<unknown>(Type.Null({ description }))
}

/** A stream of parts. */
export function eventStreamReply(description: string) {
  return eventsReply(description, Type.Unsafe<unknown>(EventPartSchema), { 'x-run-id': RUN_ID })
}

/** A file, or a range of it. */
export function fileReply(description: string, headers: Readonly<Record<string, string>> = {}) {
  const all = { etag: 'Identifies the content', 'content-disposition': 'The name of the file', ...headers }
  return bytesReply(description, all)
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
