import type { Attributes, MeterProvider } from '@opentelemetry/api'
import type { EventBus, Usage } from '@svc/contract'
import type { RuntimeEvents } from './events.ts'

// Bucket boundaries of the GenAI semantic conventions.
const TOKEN_BUCKETS = Array.from({ length: 14 }, (_, power) => 4 ** power)
const SECOND_BUCKETS = Array.from({ length: 14 }, (_, power) => 2 ** power / 100)

/** Records tokens and durations of the model calls on a bus until the returned function is called. */
export function recordModelCalls(
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
