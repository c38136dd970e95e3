import { Type, type Static } from '@sinclair/typebox'
import {
  eventSchema as event,
  FinishReasonSchema,
  CompactionReasonSchema,
  PART_SCHEMAS,
  RUN_EVENT_SCHEMAS,
  ToolErrorSchema,
  UsageSchema,
  type RunnableKind
} from '@svc/contract'
import { emitEvent, type EventFields, type EventOrigin } from '@svc/registry/engine'

const call = { toolCallId: Type.String(), toolName: Type.String() }
const durationMs = Type.Number({ description: 'Milliseconds' })
const sessionId = Type.String()
const ModelFinishSchema = Type.Union([FinishReasonSchema, Type.Literal('tool-calls')])
const section = Type.Object({
  hash: Type.String({ description: 'Equal for the same bytes' }),
  tokens: Type.Number({ description: 'Estimated' })
})
const modelCall = {
  step: Type.Integer(),
  attempt: Type.Integer(),
  provider: Type.String(),
  model: Type.String(),
  purpose: Type.Optional(
    Type.Literal('memory', { description: 'The call writes the summary of a conversation, and is no step' })
  )
}

/** Payload schemas of all events on the bus, by event name. */
export const EVENT_SCHEMAS = {
  ...RUN_EVENT_SCHEMAS,
  'model.call': event(modelCall),
  'model.result': event({
    ...modelCall,
    finishReason: ModelFinishSchema,
    usage: Type.Optional(UsageSchema),
    durationMs,
    firstTokenMs: Type.Optional(durationMs),
    responseModel: Type.Optional(
      Type.String({ description: 'The model that answered, as the provider reports it' })
    )
  }),
  'model.error': event({
    ...modelCall,
    error: ToolErrorSchema,
    usage: Type.Optional(UsageSchema),
    durationMs
  }),
  'context.assembled': event({
    step: Type.Integer(),
    provider: Type.String(),
    model: Type.String(),
    tools: section,
    system: section,
    history: section,
    tail: section
  }),
  'context.compacted': event({
    step: Type.Integer({ description: 'That follows' }),
    reason: CompactionReasonSchema,
    before: Type.Integer({ description: 'Estimated tokens' }),
    after: Type.Integer({ description: 'Estimated tokens' }),
    messages: Type.Integer({ description: 'That were replaced' }),
    cut: Type.Integer({ description: 'Tool results that show their ends only' }),
    summarised: Type.Boolean({ description: 'False: messages were left out without a summary' }),
    usage: Type.Optional(UsageSchema)
  }),
  'context.overflow': event({
    provider: Type.String(),
    model: Type.String(),
    limit: Type.Optional(
      Type.Integer({ description: 'Tokens that the model takes, where its provider tells' })
    )
  }),
  'guard.verdict': event({
    name: Type.String({ description: 'The middleware' }),
    on: PART_SCHEMAS.guard.properties.on,
    action: PART_SCHEMAS.guard.properties.action,
    reason: Type.Optional(Type.String()),
    note: Type.Optional(Type.String({ description: 'For the service, never shown to clients' })),
    index: Type.Optional(Type.Integer({ description: 'The step' })),
    toolCallId: Type.Optional(Type.String())
  }),
  'tool.call': event({ ...call, args: Type.Unknown() }),
  'tool.result': event({ ...call, result: Type.Unknown(), durationMs }),
  'tool.error': event({ ...call, error: ToolErrorSchema, durationMs }),
  'tool.approval.request': event({ ...call, args: Type.Unknown() }),
  'tool.approval.response': event({
    ...call,
    approved: Type.Boolean(),
    expired: Type.Boolean(),
    reason: Type.Optional(Type.String())
  }),
  'voice.session.start': event({
    sessionId,
    engine: Type.Union([Type.Literal('cascade'), Type.Literal('realtime')]),
    format: Type.Object({ type: Type.String(), rate: Type.Integer({ description: 'Hz' }) })
  }),
  'voice.session.end': event({
    sessionId,
    durationMs,
    turns: Type.Integer(),
    interruptions: Type.Integer(),
    reason: Type.Union(
      ['hangup', 'gone', 'shutdown', 'idle', 'timeout', 'error'].map((each) => Type.Literal(each))
    ),
    usage: UsageSchema
  }),
  'voice.turn': event({
    index: Type.Integer(),
    status: PART_SCHEMAS['voice.turn'].properties.status,
    latency: PART_SCHEMAS['voice.turn'].properties.latency
  }),
  'voice.interrupt': event({
    heardMs: Type.Number({ description: 'Milliseconds of the answer that were played' }),
    falseAlarm: Type.Boolean({ description: 'The user said nothing, and the answer was resumed' })
  }),
  'voice.reconnect': event({ attempt: Type.Integer(), reason: Type.String() }),
  'voice.tool.call': event({ ...call, args: Type.Unknown() }),
  'voice.tool.result': event({ ...call, result: Type.Unknown(), durationMs }),
  'browser.step': event({ index: Type.Integer(), url: Type.Optional(Type.String()) }),
  'browser.action': event({
    toolCallId: Type.String(),
    index: Type.Integer(),
    action: Type.String(),
    args: Type.Unknown()
  }),
  'browser.blocked': event({ host: Type.String(), reason: Type.String() }),
  'browser.done': event({ steps: Type.Integer(), durationMs }),
  'browser.error': event({ error: ToolErrorSchema, durationMs }),
  'memory.extract': event({ sessionId }),
  'memory.stored': event({ sessionId, ids: Type.Array(Type.String()) }),
  'memory.recalled': event({ sessionId, items: Type.Integer(), durationMs }),
  'memory.reembedded': event({
    sessionId,
    count: Type.Integer(),
    left: Type.Integer({ description: 'Items that are still to be embedded again, counted up to 900' })
  }),
  'memory.error': event({ sessionId, error: ToolErrorSchema }),
  'skill.loaded': event({ skill: Type.String() }),
  'skill.learned': event({ skill: Type.String() })
} as const

/** Payloads by event name. */
export type RuntimeEvents = { [N in keyof typeof EVENT_SCHEMAS]: Static<(typeof EVENT_SCHEMAS)[N]> }

declare module '@svc/registry' {
  interface EventMap extends RuntimeEvents {}
}

/** Emits the events of one run: models, tools, approvals, memory and skills. */
export class RunEvents {
  readonly name: string
  readonly kind: RunnableKind
  readonly #origin: EventOrigin

  constructor(origin: EventOrigin, name: string, kind: RunnableKind) {
    this.name = name
    this.kind = kind
    this.#origin = origin
  }

  /** Calls `fields` only if the event has listeners. */
  emit<N extends keyof RuntimeEvents>(name: N, fields: () => EventFields<N>): void {
    emitEvent(this.#origin, this, name, fields)
  }
}

/** The used part of a tracer provider; any `TracerProvider` of `@opentelemetry/api` fits. */
export interface SpanProvider {
  getTracer(name: string): {
    startSpan(name: string, options?: never, context?: never): { end(endTime?: number): void }
  }
}

/** The used part of a meter provider; any `MeterProvider` of `@opentelemetry/api` fits. */
export interface MetricProvider {
  getMeter(name: string): {
    createHistogram(name: string, options?: never): { record(value: number, attributes?: never): void }
    createCounter(name: string, options?: never): { add(value: number, attributes?: never): void }
  }
}

/** Destinations of spans and metrics. */
export interface TelemetryOptions {
  /** Default: the global one of `@opentelemetry/api`. */
  tracerProvider?: SpanProvider
  /** Default: the global one of `@opentelemetry/api`. */
  meterProvider?: MetricProvider
}
