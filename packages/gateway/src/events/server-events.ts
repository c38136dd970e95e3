import { Type, type Static, type TProperties } from '@sinclair/typebox'
import type { RunnableKind } from '@svc/registry'
import { FinishReasonSchema, UsageSchema } from '@svc/registry/kit'

const place = {
  runId: Type.String({ description: 'Tells the runs of one socket apart' }),
  seq: Type.Integer({ minimum: 1, description: 'The part of the run’s log; `run.watch` goes on after it' })
}
const source = {
  source: Type.Optional(Type.Array(Type.String(), { description: 'Path of member or step names' }))
}
const defineEvent = <P extends TProperties>(title: string, fields: P) =>
  Type.Object({ ...fields, ...place, ...source }, { title })

/** A piece of text. */
export const ChunkEventSchema = defineEvent('Chunk', { chunk: Type.String({ description: 'An increment' }) })
export type ChunkEvent = Static<typeof ChunkEventSchema>

/** A tool is called. */
export const ToolCallEventSchema = defineEvent('ToolCall', {
  toolCallId: Type.String(),
  toolName: Type.String(),
  args: Type.Unknown({ description: 'null, unless the service exposes arguments' })
})
export type ToolCallEvent = Static<typeof ToolCallEventSchema>

/** A tool has given its result, or failed. */
export const ToolDoneEventSchema = defineEvent('ToolDone', { toolCallId: Type.String() })
export type ToolDoneEvent = Static<typeof ToolDoneEventSchema>

/** A tool call waits for `approval.answer`. */
export const ApprovalEventSchema = defineEvent('Approval', {
  approvalId: Type.String(),
  toolName: Type.String(),
  args: Type.Unknown({ description: 'null where their JSON has more than 1 MiB' }),
  argsPreview: Type.Optional(Type.String({ description: 'How the JSON of larger ones begins' })),
  expiresAt: Type.String({ format: 'date-time' })
})
export type ApprovalEvent = Static<typeof ApprovalEventSchema>

/** What a step said so far is void: it is tried again. */
export const ResetEventSchema = defineEvent('Reset', { index: Type.Integer() })
export type ResetEvent = Static<typeof ResetEventSchema>

/** The run has ended, a canceled one included; nothing comes after it. */
export const DoneEventSchema = defineEvent('Done', {
  output: Type.Object({
    text: Type.String(),
    structured: Type.Unknown({ description: 'null when there is none' }),
    truncated: Type.Optional(
      Type.Literal(true, {
        description: 'More than 1 MiB: of `text` this is the beginning, a larger `structured` is null'
      })
    ),
    usage: UsageSchema,
    durationMs: Type.Number({ description: 'Milliseconds' }),
    finishReason: FinishReasonSchema
  })
})
export type DoneEvent = Static<typeof DoneEventSchema>

/** A run has failed, and nothing comes after it; or it was not even started: then there is no `runId`. */
export const ErrorEventSchema = Type.Object(
  { error: Type.String(), code: Type.String(), ...Type.Partial(Type.Object(place)).properties, ...source },
  { title: 'ErrorEvent' }
)
export type ErrorEvent = Static<typeof ErrorEventSchema>

/** The service shuts down, and the run goes on when it is back: `run.watch` gives the rest then. */
export const SuspendedEventSchema = Type.Object(
  {
    runId: place.runId,
    seq: Type.Integer({ minimum: 0, description: 'The last part that was sent: watch the run after it' })
  },
  { title: 'Suspended' }
)
export type SuspendedEvent = Static<typeof SuspendedEventSchema>

/** The schema of each event of a run, under the prefix of its kind, such as `agent.chunk`. */
export const RUN_EVENTS = {
  chunk: ChunkEventSchema,
  'tool.call': ToolCallEventSchema,
  'tool.done': ToolDoneEventSchema,
  approval: ApprovalEventSchema,
  reset: ResetEventSchema,
  done: DoneEventSchema,
  error: ErrorEventSchema
} as const

interface RunEvents {
  chunk: ChunkEvent
  'tool.call': ToolCallEvent
  'tool.done': ToolDoneEvent
  approval: ApprovalEvent
  reset: ResetEvent
  done: DoneEvent
  error: ErrorEvent
}

/**
 * The events that a client listens to, for `Socket<ServerToClientEvents, ClientToServerEvents>` of `socket.io-client`.
 * `gateway.error` is of no run: a limit, an expired token, an event that nobody takes.
 */
export type ServerToClientEvents = {
  [E in keyof RunEvents as `${RunnableKind}.${E}`]: (event: RunEvents[E]) => void
} & {
  'run.suspended': (event: SuspendedEvent) => void
  'gateway.error': (event: ErrorEvent) => void
}
