import type * as Telemetry from '@opentelemetry/api'
import type {
  Attributes,
  Context,
  Histogram,
  MeterProvider,
  Span,
  SpanOptions,
  TracerProvider
} from '@opentelemetry/api'
import { defined, type EventBus, type Usage } from '@svc/contract'
import { defaultEvents } from '@svc/registry/engine'
import type { RuntimeEvents, TelemetryOptions } from './events.ts'

// Bucket boundaries of the GenAI semantic conventions.
const TOKEN_BUCKETS = Array.from({ length: 14 }, (_, power) => 4 ** power)
const SECOND_BUCKETS = Array.from({ length: 14 }, (_, power) => 2 ** power / 100)

/** Records tokens and durations of the model calls on a bus until the returned function is called. */
function recordModelCalls(
  bus: EventBus,
  provider: MeterProvider,
  toAttributes: (call: RuntimeEvents['model.call']) => Attributes
): () => void {
  const meter = provider.getMeter('@svc/runtime')
  const tokens = meter.createHistogram('gen_ai.client.token.usage', {
    description: 'Number of input and output tokens used',
    unit: '{token}',
    advice: { explicitBucketBoundaries: TOKEN_BUCKETS }
  })
  const seconds = meter.createHistogram('gen_ai.client.operation.duration', {
    description: 'GenAI operation duration',
    unit: 's',
    advice: { explicitBucketBoundaries: SECOND_BUCKETS }
  })
  const firstChunk = meter.createHistogram('gen_ai.client.operation.time_to_first_chunk', {
    description: 'Time to receive the first chunk',
    unit: 's',
    advice: { explicitBucketBoundaries: SECOND_BUCKETS }
  })
  const recordTokens = ({ promptTokens, completionTokens }: Usage, attributes: Attributes) => {
    tokens.record(promptTokens, { ...attributes, 'gen_ai.token.type': 'input' })
    tokens.record(completionTokens, { ...attributes, 'gen_ai.token.type': 'output' })
  }
  const stops = [
    bus.on('model.result', (event) => {
      const attributes = toAttributes(event)
      if (event.usage !== undefined) recordTokens(event.usage, attributes)
      seconds.record(event.durationMs / 1000, attributes)
      if (event.firstTokenMs !== undefined) firstChunk.record(event.firstTokenMs / 1000, attributes)
    }),
    bus.on('model.error', (event) => {
      const attributes = { ...toAttributes(event), 'error.type': event.error.code }
      if (event.usage !== undefined) recordTokens(event.usage, attributes)
      seconds.record(event.durationMs / 1000, attributes)
    })
  ]
  return () => {
    for (const stop of stops) stop()
  }
}

type Run = Pick<RuntimeEvents['run.start'], 'kind' | 'name'>
type Call = Pick<RuntimeEvents['tool.result'], 'kind' | 'name' | 'toolName'>
interface Ended {
  durationMs: number
  error?: { code: string }
}

// Bucket boundaries of the GenAI semantic conventions.
const AGENT_BUCKETS = Array.from({ length: 13 }, (_, power) => 2 ** power / 10)
const WORKFLOW_BUCKETS = [1, 5, 10, 30, 60, 120, 300, 600, 1_800, 3_600, 7_200]
const TOOL_BUCKETS = Array.from({ length: 14 }, (_, power) => 2 ** power / 100)

/** Records durations of the runs and tool calls on a bus until the returned function is called. */
function recordRuns(bus: EventBus, provider: MeterProvider): () => void {
  const meter = provider.getMeter('@svc/runtime')
  const seconds = (name: string, description: string, explicitBucketBoundaries: number[]) =>
    meter.createHistogram(name, { description, unit: 's', advice: { explicitBucketBoundaries } })
  const agents = seconds(
    'gen_ai.invoke_agent.duration',
    'Duration of an invocation of an agent',
    AGENT_BUCKETS
  )
  const others = seconds('gen_ai.workflow.duration', 'Duration of a workflow', WORKFLOW_BUCKETS)
  const tools = seconds('gen_ai.execute_tool.duration', 'Duration of a tool execution', TOOL_BUCKETS)

  const endRun = (event: Run & Ended) => {
    if (event.kind === 'agent') record(agents, event, { 'gen_ai.agent.name': event.name })
    else record(others, event, { 'gen_ai.workflow.name': event.name })
  }
  const endCall = (event: Call & Ended) =>
    record(tools, event, {
      'gen_ai.tool.name': event.toolName,
      'gen_ai.tool.type': 'function',
      ...(event.kind === 'agent' && { 'gen_ai.agent.name': event.name })
    })

  const stops = [
    bus.on('run.complete', endRun),
    bus.on('run.error', endRun),
    bus.on('tool.result', endCall),
    bus.on('tool.error', endCall)
  ]
  return () => {
    for (const stop of stops) stop()
  }
}

function record(histogram: Histogram, { durationMs, error }: Ended, attributes: Attributes): void {
  histogram.record(durationMs / 1000, error ? { ...attributes, 'error.type': error.code } : attributes)
}

type Base = Pick<RuntimeEvents['run.start'], 'idempotencyKey' | 'at'>

interface OpenSpan {
  readonly span: Span
  /** The parent of what begins within it. */
  context: Context
  /** Open child spans of model and tool calls. */
  readonly calls: Map<string, Span>
}

const SCOPE = '@svc/runtime'

/** Open spans of active runs: a member's span is a child of its team's, a call's span a child of its run's. */
class RunSpans {
  readonly #api: typeof Telemetry
  readonly #provider: TracerProvider | undefined
  // By idempotency key; an abandoned attempt may still be open when the next one starts.
  readonly #open = new Map<string, OpenSpan[]>()

  constructor(api: typeof Telemetry, provider?: TracerProvider) {
    this.#api = api
    this.#provider = provider
  }

  startRun(event: Base, name: string, attributes: Attributes): void {
    const parent = this.#parentOf(event) ?? this.#api.context.active()
    const options = { kind: this.#api.SpanKind.INTERNAL, startTime: event.at, attributes }
    const span = this.#start(name, options, parent)
    const open = { span, context: this.#api.trace.setSpan(parent, span), calls: new Map<string, Span>() }
    const key = event.idempotencyKey
    const spans = this.#open.get(key)
    if (spans === undefined) this.#open.set(key, [open])
    else spans.push(open)
  }

  endRun(event: Base, attributes: Attributes, error?: { code: string }): void {
    const key = event.idempotencyKey
    const spans = this.#open.get(key)
    const open = spans?.pop()
    if (spans?.length === 0) this.#open.delete(key)
    if (open === undefined) return
    for (const span of open.calls.values()) span.end(event.at)
    this.#end(open.span, event.at, attributes, error)
  }

  startCall(event: Base, id: string, name: string, options: SpanOptions): void {
    const open = this.#open.get(event.idempotencyKey)?.at(-1)
    open?.calls.set(id, this.#start(name, { ...options, startTime: event.at }, open.context))
  }

  /** As `startCall`; what begins from now on in the run is within it. */
  enterCall(event: Base, id: string, name: string, options: SpanOptions): void {
    this.startCall(event, id, name, options)
    const open = this.#open.get(event.idempotencyKey)?.at(-1)
    const span = open?.calls.get(id)
    if (span !== undefined) open!.context = this.#api.trace.setSpan(open!.context, span)
  }

  annotateCall({ idempotencyKey }: Base, id: string, attributes: Attributes): void {
    for (const { calls } of this.#open.get(idempotencyKey) ?? []) calls.get(id)?.setAttributes(attributes)
  }

  endCall(event: Base, id: string, attributes: Attributes, error?: { code: string }): void {
    for (const { calls } of this.#open.get(event.idempotencyKey) ?? []) {
      const span = calls.get(id)
      if (span === undefined) continue
      calls.delete(id)
      this.#end(span, event.at, attributes, error)
      return
    }
  }

  #start(name: string, options: SpanOptions, parent: Context): Span {
    return (this.#provider ?? this.#api.trace).getTracer(SCOPE).startSpan(name, options, parent)
  }

  // Only the code of an error: its message may quote the conversation.
  #end(span: Span, at: number, attributes: Attributes, error: { code: string } | undefined): void {
    span.setAttributes(attributes)
    if (error !== undefined) {
      span.setAttribute('error.type', error.code)
      span.setStatus({ code: this.#api.SpanStatusCode.ERROR })
    }
    span.end(at)
  }

  // The nearest open ancestor: each segment of the key is a call, and names contain no slash.
  #parentOf({ idempotencyKey }: Base): Context | undefined {
    for (let end = idempotencyKey.length; (end = idempotencyKey.lastIndexOf('/', end - 1)) > 0;) {
      const above = this.#open.get(idempotencyKey.slice(0, end))?.at(-1)
      if (above !== undefined) return above.context
    }
    return undefined
  }
}

// Seconds. People notice 0.3 s, and 2 s are too long.
const LATENCY_BUCKETS = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 5, 10]

// Seconds. A memory has 3 of them.
const RECALL_BUCKETS = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 3]

/** Records response latencies and interruptions of the calls on a bus until the returned function is called. */
function recordCalls(bus: EventBus, provider: MeterProvider): () => void {
  const meter = provider.getMeter('@svc/runtime')
  const latencies = meter.createHistogram('svc.voice.response.latency', {
    description: 'Time from the end of the speech of a user to the first audio of the answer',
    unit: 's',
    advice: { explicitBucketBoundaries: LATENCY_BUCKETS }
  })
  const interruptions = meter.createCounter('svc.voice.interruptions', {
    description: 'Number of answers that users interrupted',
    unit: '{interruption}'
  })
  const stops = [
    bus.on('voice.turn', (event) => {
      const { firstAudioMs } = event.latency
      if (firstAudioMs !== undefined) latencies.record(firstAudioMs / 1000, attributesOf(event))
    }),
    bus.on('voice.interrupt', (event) =>
      interruptions.add(1, { ...attributesOf(event), 'svc.voice.false_alarm': event.falseAlarm })
    )
  ]
  return () => {
    for (const stop of stops) stop()
  }
}

/** Records how long recalls take, until the returned function is called. */
function recordRecalls(bus: EventBus, provider: MeterProvider): () => void {
  const seconds = provider.getMeter('@svc/runtime').createHistogram('svc.recall.duration', {
    description: 'Time to recall from memory, with the embedding of the input',
    unit: 's',
    advice: { explicitBucketBoundaries: RECALL_BUCKETS }
  })
  return bus.on('memory.recalled', ({ name, durationMs }) =>
    seconds.record(durationMs / 1000, { 'gen_ai.agent.name': name })
  )
}

/** Counts compactions until the returned function is called. */
function recordCompactions(bus: EventBus, provider: MeterProvider): () => void {
  const compactions = provider.getMeter('@svc/runtime').createCounter('svc.context.compactions', {
    description: 'Number of prompts that were compacted',
    unit: '{compaction}'
  })
  return bus.on('context.compacted', ({ kind, name, reason, summarised }) =>
    compactions.add(1, {
      [kind === 'agent' ? 'gen_ai.agent.name' : 'gen_ai.workflow.name']: name,
      'svc.context.reason': reason,
      'svc.context.summarised': summarised
    })
  )
}

function attributesOf({ name }: RuntimeEvents['voice.turn'] | RuntimeEvents['voice.interrupt']) {
  return { 'gen_ai.agent.name': name }
}

/** The id of the span of a call, within its run. */
const VOICE_CALL = 'voice_call'

/** The id of the span of a recall, within its run. */
const RECALL = 'memory_recall'

type ModelCall = RuntimeEvents['model.call']

/**
 * Records spans and metrics of the events on a bus, following the GenAI semantic conventions of OpenTelemetry, until the
 * returned function is called. They contain no prompts, answers, arguments, results or keys. Does nothing without
 * `@opentelemetry/api`.
 */
export async function traceEvents(
  bus: EventBus = defaultEvents,
  { tracerProvider, meterProvider }: TelemetryOptions = {}
): Promise<() => void> {
  const api = await import('@opentelemetry/api').catch(() => undefined)
  if (api === undefined) return () => {}
  const spans = new RunSpans(api, tracerProvider as TracerProvider | undefined)
  const meters = (meterProvider as MeterProvider | undefined) ?? api.metrics.getMeterProvider()
  const { CLIENT, INTERNAL } = api.SpanKind
  const stops = [
    bus.on('run.start', (event) => {
      const operation = event.kind === 'agent' ? 'invoke_agent' : 'invoke_workflow'
      spans.startRun(event, `${operation} ${event.name}`, {
        'gen_ai.operation.name': operation,
        [event.kind === 'agent' ? 'gen_ai.agent.name' : 'gen_ai.workflow.name']: event.name,
        'gen_ai.conversation.id': event.sessionId,
        'svc.run.id': event.runId,
        ...metadataOf(event)
      })
    }),
    bus.on('run.complete', (event) =>
      spans.endRun(event, { ...usageOf(event.usage), 'gen_ai.response.finish_reasons': [event.finishReason] })
    ),
    bus.on('run.error', (event) => spans.endRun(event, {}, event.error)),
    bus.on('model.call', (event) =>
      spans.startCall(event, modelCallId(event), `chat ${event.model}`, {
        kind: CLIENT,
        attributes: chatAttributes(event)
      })
    ),
    bus.on('model.result', (event) =>
      spans.endCall(event, modelCallId(event), {
        ...usageOf(event.usage),
        ...responseOf(event),
        'gen_ai.response.finish_reasons': [event.finishReason]
      })
    ),
    bus.on('model.error', (event) =>
      spans.endCall(event, modelCallId(event), usageOf(event.usage), event.error)
    ),
    bus.on('tool.call', (event) =>
      spans.startCall(event, event.toolCallId, `execute_tool ${event.toolName}`, {
        kind: INTERNAL,
        attributes: {
          'gen_ai.operation.name': 'execute_tool',
          'gen_ai.tool.name': event.toolName,
          'gen_ai.tool.call.id': event.toolCallId,
          'gen_ai.tool.type': 'function'
        }
      })
    ),
    bus.on('voice.session.start', (event) =>
      spans.enterCall(event, VOICE_CALL, `voice_call ${event.name}`, {
        kind: INTERNAL,
        attributes: {
          'gen_ai.operation.name': 'voice_call',
          'gen_ai.agent.name': event.name,
          'gen_ai.conversation.id': event.sessionId,
          'svc.voice.engine': event.engine,
          'svc.voice.format': event.format.type,
          'svc.voice.rate': event.format.rate
        }
      })
    ),
    bus.on('voice.session.end', (event) =>
      spans.endCall(event, VOICE_CALL, {
        ...usageOf(event.usage),
        'svc.voice.turns': event.turns,
        'svc.voice.interruptions': event.interruptions,
        'svc.voice.end_reason': event.reason
      })
    ),
    bus.on('browser.action', (event) =>
      spans.annotateCall(event, event.toolCallId, browserAttributes(event))
    ),
    bus.on('memory.recalled', ({ durationMs, items, ...event }) => {
      const begun = { ...event, at: event.at - durationMs }
      spans.startCall(begun, RECALL, 'memory.recall', {
        kind: INTERNAL,
        attributes: { 'gen_ai.operation.name': 'memory.recall', 'gen_ai.agent.name': event.name }
      })
      spans.endCall(event, RECALL, { 'svc.memory.items': items })
    }),
    bus.on('tool.result', (event) => spans.endCall(event, event.toolCallId, {})),
    bus.on('tool.error', (event) => spans.endCall(event, event.toolCallId, {}, event.error)),
    recordModelCalls(bus, meters, chatAttributes),
    recordRuns(bus, meters),
    recordCalls(bus, meters),
    recordRecalls(bus, meters),
    recordCompactions(bus, meters)
  ]
  return () => {
    for (const stop of stops) stop()
  }
}

function metadataOf({ metadata = {} }: Pick<RuntimeEvents['run.start'], 'metadata'>): Attributes {
  return Object.fromEntries(
    Object.entries(metadata).map(([key, value]) => [`svc.run.metadata.${key}`, value])
  )
}

// The host only: paths and queries may say what a run is about.
function browserAttributes({ action, args }: RuntimeEvents['browser.action']): Attributes {
  const { url } = args as { url?: unknown }
  const host = typeof url === 'string' ? URL.parse(url)?.hostname : undefined
  return { 'svc.browser.action': action, ...defined({ 'server.address': host }) }
}

const modelCallId = ({ step, attempt }: Pick<ModelCall, 'step' | 'attempt'>) => `model ${step} ${attempt}`

function chatAttributes({
  provider,
  model,
  purpose
}: Pick<ModelCall, 'provider' | 'model' | 'purpose'>): Attributes {
  return {
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': toProviderName(provider),
    'gen_ai.request.model': model,
    ...defined({ 'svc.model.purpose': purpose })
  }
}

function usageOf(usage: Usage | undefined): Attributes {
  if (usage === undefined) return {}
  const { cachedPromptTokens, cacheWriteTokens, reasoningTokens } = usage
  return {
    'gen_ai.usage.input_tokens': usage.promptTokens,
    'gen_ai.usage.output_tokens': usage.completionTokens,
    ...defined({
      'gen_ai.usage.cache_read.input_tokens': cachedPromptTokens,
      'gen_ai.usage.cache_creation.input_tokens': cacheWriteTokens,
      'gen_ai.usage.reasoning.output_tokens': reasoningTokens
    })
  }
}

function responseOf({ responseModel, firstTokenMs }: RuntimeEvents['model.result']): Attributes {
  return {
    ...defined({ 'gen_ai.response.model': responseModel }),
    ...(firstTokenMs !== undefined && { 'gen_ai.response.time_to_first_chunk': firstTokenMs / 1000 })
  }
}

// Well-known values of `gen_ai.provider.name` that differ from the first word of the AI SDK's provider name.
const KNOWN: readonly (readonly [RegExp, string])[] = [
  [/^google\.vertex|^vertex/, 'gcp.vertex_ai'],
  [/^google/, 'gcp.gemini'],
  [/^azure/, 'azure.ai.openai'],
  [/^amazon-bedrock/, 'aws.bedrock'],
  [/^mistral/, 'mistral_ai'],
  [/^xai/, 'x_ai']
]

/** Maps a provider name of the AI SDK to that of the GenAI semantic conventions of OpenTelemetry. */
export function toProviderName(provider: string): string {
  return KNOWN.find(([pattern]) => pattern.test(provider))?.[1] ?? provider.split('.')[0]!
}
