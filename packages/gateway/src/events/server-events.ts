import { Type, type Static, type TObject, type TProperties } from '@sinclair/typebox'
import {
  FinishReasonSchema,
  PART_SCHEMAS,
  RunFileSchema,
  UsageSchema,
  type NumberedPart,
  type RunnableKind
} from '@svc/contract'
import type { VoiceServerEvents } from './voice-events.ts'

const place = {
  runId: Type.String({ description: 'Distinguishes the runs of one socket' }),
  seq: Type.Integer({ minimum: 1, description: 'The number of the part; `run.watch` continues after it' })
}
const channel = {
  sessionId: Type.Optional(Type.String({ description: 'Of events that `session.watch` sends' })),
  id: Type.Optional(
    Type.String({ description: 'The place of the part in the session; `session.watch` continues after it' })
  )
}
const source = {
  source: Type.Optional(Type.Array(Type.String(), { description: 'Path of member or step names' }))
}
const defineEvent = <P extends TProperties>(title: string, fields: P) =>
  Type.Object({ ...fields, ...place, ...source, ...channel }, { title })

/** A chunk of text. */
export const ChunkEventSchema = defineEvent('Chunk', { chunk: Type.String({ description: 'An increment' }) })
export type ChunkEvent = Static<typeof ChunkEventSchema>

/** A tool is called. */
export const ToolCallEventSchema = defineEvent('ToolCall', {
  toolCallId: Type.String(),
  toolName: Type.String(),
  args: Type.Unknown({ description: 'null, unless the service exposes arguments' })
})
export type ToolCallEvent = Static<typeof ToolCallEventSchema>

/** A tool call ended, with a result or an error. */
export const ToolDoneEventSchema = defineEvent('ToolDone', { toolCallId: Type.String() })
export type ToolDoneEvent = Static<typeof ToolDoneEventSchema>

/** A tool call waits for `approval.answer`. */
export const ApprovalEventSchema = defineEvent('Approval', {
  approvalId: Type.String(),
  toolName: Type.String(),
  args: Type.Unknown({ description: 'null if their JSON has more than 1 MiB' }),
  argsPreview: Type.Optional(Type.String({ description: 'The beginning of their JSON, if larger' })),
  expiresAt: Type.String({ format: 'date-time' })
})
export type ApprovalEvent = Static<typeof ApprovalEventSchema>

/** A question or a client tool waits for `input.answer`. */
export const InputEventSchema = defineEvent('Input', {
  inputId: Type.String(),
  kind: Type.Union([Type.Literal('question'), Type.Literal('tool'), Type.Literal('auth')]),
  message: Type.Optional(Type.String({ description: 'The question' })),
  schema: Type.Optional(Type.Unknown({ description: 'JSON Schema of the content of the answer' })),
  toolCallId: Type.Optional(Type.String()),
  toolName: Type.Optional(Type.String()),
  args: Type.Optional(Type.Unknown({ description: 'null if their JSON has more than 1 MiB' })),
  argsPreview: Type.Optional(Type.String({ description: 'The beginning of their JSON, if larger' })),
  expiresAt: Type.String({ format: 'date-time' })
})
export type InputEvent = Static<typeof InputEventSchema>

/** A step is retried: discard its output so far. */
export const ResetEventSchema = defineEvent('Reset', { index: Type.Integer() })
export type ResetEvent = Static<typeof ResetEventSchema>

/** Any other part, for clients that asked for `parts`. */
export const PartEventSchema = Type.Object(
  {
    runId: place.runId,
    seq: Type.Optional(place.seq),
    ...channel,
    part: Type.Union([...Object.values(PART_SCHEMAS), Type.Null()], {
      description: 'As in the log, with `at`; null if its JSON has more than 1 MiB'
    })
  },
  { title: 'PartEvent' }
)
export interface PartEvent extends Static<TObject<typeof channel>> {
  runId: string
  /** Undefined for a transient part. */
  seq?: number
  part: (Omit<NumberedPart, 'seq'> & { seq?: number }) | null
}

/** The object that the agent is writing, for clients that asked for `partial`: it grows until it is `structured`, or a step begins. */
export const PartialEventSchema = Type.Object(
  {
    runId: place.runId,
    sessionId: channel.sessionId,
    value: Type.Unknown({ description: 'Not validated; an object or an array' })
  },
  { title: 'PartialEvent' }
)
export type PartialEvent = Static<typeof PartialEventSchema>

/** The last event of a run that ended, or was canceled. */
export const DoneEventSchema = defineEvent('Done', {
  output: Type.Object({
    text: Type.String(),
    structured: Type.Unknown({ description: 'null if there is none' }),
    files: Type.Optional(
      Type.Array(RunFileSchema, { description: 'For `run.file`; absent if there are none' })
    ),
    truncated: Type.Optional(
      Type.Literal(true, {
        description:
          'More than 1 MiB: `text` is cut, a larger `structured` is null, larger `files` are absent'
      })
    ),
    usage: UsageSchema,
    durationMs: Type.Number({ description: 'Milliseconds' }),
    finishReason: FinishReasonSchema
  })
})
export type DoneEvent = Static<typeof DoneEventSchema>

/** The last event of a failed run. Without a `runId` the run was not started. */
export const ErrorEventSchema = Type.Object(
  {
    error: Type.String(),
    code: Type.String(),
    ...Type.Partial(Type.Object(place)).properties,
    ...source,
    ...channel
  },
  { title: 'ErrorEvent' }
)
export type ErrorEvent = Static<typeof ErrorEventSchema>

/** The service shuts down; the run resumes after the restart, and `run.watch` sends the rest. */
export const SuspendedEventSchema = Type.Object(
  {
    runId: place.runId,
    seq: Type.Integer({ minimum: 0, description: 'The last sent part: watch the run after it' })
  },
  { title: 'Suspended' }
)
export type SuspendedEvent = Static<typeof SuspendedEventSchema>

/** The service shuts down: watch the session again, after the last received `id`. */
export const SessionSuspendedEventSchema = Type.Object(
  { sessionId: Type.String() },
  { title: 'SessionSuspended' }
)
export type SessionSuspendedEvent = Static<typeof SessionSuspendedEventSchema>

/** The schemas of a run's events, which are prefixed by its kind, as in `agent.chunk`. */
export const RUN_EVENTS = {
  chunk: ChunkEventSchema,
  'tool.call': ToolCallEventSchema,
  'tool.done': ToolDoneEventSchema,
  approval: ApprovalEventSchema,
  input: InputEventSchema,
  reset: ResetEventSchema,
  part: PartEventSchema,
  partial: PartialEventSchema,
  done: DoneEventSchema,
  error: ErrorEventSchema
} as const

interface RunEvents {
  chunk: ChunkEvent
  'tool.call': ToolCallEvent
  'tool.done': ToolDoneEvent
  approval: ApprovalEvent
  input: InputEvent
  reset: ResetEvent
  part: PartEvent
  partial: PartialEvent
  done: DoneEvent
  error: ErrorEvent
}

/**
 * The events of the server, for `Socket<ServerToClientEvents, ClientToServerEvents>` of `socket.io-client`.
 * `gateway.error` belongs to no run: a limit, an expired token, an unknown event.
 */
export type ServerToClientEvents = {
  [E in keyof RunEvents as `${RunnableKind}.${E}`]: (event: RunEvents[E]) => void
} & {
  'run.suspended': (event: SuspendedEvent) => void
  'session.suspended': (event: SessionSuspendedEvent) => void
  'gateway.error': (event: ErrorEvent) => void
} & VoiceServerEvents
