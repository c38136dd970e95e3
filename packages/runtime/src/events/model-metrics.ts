import type { Attributes, MeterProvider } from '@opentelemetry/api'
import type { EventBus } from '@svc/registry'
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
  const stops = [
    bus.on('model.result', (event) => {
      const attributes = toAttributes(event)
      const { promptTokens, completionTokens } = event.usage
      tokens.record(promptTokens, { ...attributes, 'gen_ai.token.type': 'input' })
      tokens.record(completionTokens, { ...attributes, 'gen_ai.token.type': 'output' })
      seconds.record(event.durationMs / 1000, attributes)
    }),
    bus.on('model.error', (event) =>
      seconds.record(event.durationMs / 1000, { ...toAttributes(event), 'error.type': event.error.code })
    )
  ]
  return () => {
    for (const stop of stops) stop()
  }
}
