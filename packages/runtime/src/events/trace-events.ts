import type { Attributes, MeterProvider, TracerProvider } from '@opentelemetry/api'
import type { EventBus, Usage } from '@svc/contract'
import { defaultEvents } from '@svc/registry/engine'
import type { RuntimeEvents } from './events.ts'
import { recordModelCalls } from './model-metrics.ts'
import { recordRuns } from './run-metrics.ts'
import { RunSpans } from './run-spans.ts'
import type { TelemetryOptions } from './telemetry-options.ts'
import { recordCalls } from './voice-metrics.ts'

/** The id of the span of a call, within its run. */
const VOICE_CALL = 'voice_call'

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
    bus.on('tool.result', (event) => spans.endCall(event, event.toolCallId, {})),
    bus.on('tool.error', (event) => spans.endCall(event, event.toolCallId, {}, event.error)),
    recordModelCalls(bus, meters, chatAttributes),
    recordRuns(bus, meters),
    recordCalls(bus, meters)
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
  return { 'svc.browser.action': action, ...(host !== undefined && { 'server.address': host }) }
}

const modelCallId = ({ step, attempt }: Pick<ModelCall, 'step' | 'attempt'>) => `model ${step} ${attempt}`

function chatAttributes({ provider, model }: Pick<ModelCall, 'provider' | 'model'>): Attributes {
  return {
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': toProviderName(provider),
    'gen_ai.request.model': model
  }
}

function usageOf(usage: Usage | undefined): Attributes {
  if (usage === undefined) return {}
  const { cachedPromptTokens, cacheWriteTokens, reasoningTokens } = usage
  return {
    'gen_ai.usage.input_tokens': usage.promptTokens,
    'gen_ai.usage.output_tokens': usage.completionTokens,
    ...(cachedPromptTokens !== undefined && { 'gen_ai.usage.cache_read.input_tokens': cachedPromptTokens }),
    ...(cacheWriteTokens !== undefined && { 'gen_ai.usage.cache_creation.input_tokens': cacheWriteTokens }),
    ...(reasoningTokens !== undefined && { 'gen_ai.usage.reasoning.output_tokens': reasoningTokens })
  }
}

function responseOf({ responseModel, firstTokenMs }: RuntimeEvents['model.result']): Attributes {
  return {
    ...(responseModel !== undefined && { 'gen_ai.response.model': responseModel }),
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
