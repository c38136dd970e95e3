import type { MeterProvider } from '@opentelemetry/api'
import type { EventBus } from '@svc/contract'
import type { RuntimeEvents } from './events.ts'

// Seconds. People notice 0.3 s, and 2 s are too long.
const LATENCY_BUCKETS = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 5, 10]

/** Records response latencies and interruptions of the calls on a bus until the returned function is called. */
export function recordCalls(bus: EventBus, provider: MeterProvider): () => void {
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

function attributesOf({ name }: RuntimeEvents['voice.turn'] | RuntimeEvents['voice.interrupt']) {
  return { 'gen_ai.agent.name': name }
}
