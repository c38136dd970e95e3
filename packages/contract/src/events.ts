import { Type, type Static, type TProperties } from '@sinclair/typebox'
import { RunnableKindSchema } from './names.ts'
import { FinishReasonSchema, PartErrorSchema, RunMetadataSchema, UsageSchema } from './part.ts'

/**
 * The events of a bus by name. Packages that emit add theirs by declaration merging:
 * `declare module '@svc/registry' { interface EventMap { 'tool.call': ToolCallEvent } }`.
 */
export interface EventMap extends RunEventMap {}

/** The name of an event. */
export type EventName = keyof EventMap & string
/** A listener for one event. */
export type EventListener<N extends EventName> = (event: EventMap[N]) => unknown

/** Life-cycle events. A listener that throws, rejects or is slow never affects the emitter. */
export interface EventBus {
  /** Listens until the returned function is called. */
  on<N extends EventName>(name: N, listener: EventListener<N>): () => void
  /** True if anyone listens; an emitter asks first, so that it builds no payload in vain. */
  has(name: EventName): boolean
  emit<N extends EventName>(name: N, event: EventMap[N]): void
}

/** The schema of an event's payload: the fields of every event, and these. */
export const eventSchema = <const P extends TProperties>(fields: P) =>
  Type.Object({
    runId: Type.String(),
    name: Type.String({ description: 'Of the runnable' }),
    kind: RunnableKindSchema,
    at: Type.Number({ description: 'Milliseconds since the epoch' }),
    source: Type.Optional(Type.Array(Type.String(), { description: 'Path of names of the member or step' })),
    idempotencyKey: Type.String({
      description:
        'Distinguishes several calls of one member or step: the id of the run, and the path of calls below it'
    }),
    metadata: Type.Optional(RunMetadataSchema),
    ...fields
  })

const sessionId = Type.String()
const durationMs = Type.Number({ description: 'Milliseconds' })

/** The events of every run, whatever its runnable is. */
export const RUN_EVENT_SCHEMAS = {
  'run.start': eventSchema({ sessionId }),
  'run.complete': eventSchema({
    sessionId,
    finishReason: FinishReasonSchema,
    usage: UsageSchema,
    durationMs
  }),
  'run.error': eventSchema({ sessionId, error: PartErrorSchema, durationMs }),
  'run.stream.chunk': eventSchema({ text: Type.String() })
} as const

/** The payloads by the names of their events. */
export type RunEventMap = {
  [N in keyof typeof RUN_EVENT_SCHEMAS]: Static<(typeof RUN_EVENT_SCHEMAS)[N]>
}
