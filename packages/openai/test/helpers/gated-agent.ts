import { defineRunnable } from '@svc/registry'

/** An agent that says its input once it may. @param atMost runs at once */
export function gatedAgent(atMost = 1) {
  const gates: (() => void)[] = []
  const begun: string[] = []
  const aborted = Promise.withResolvers<void>()
  let atOnce = 0
  const agent = defineRunnable({
    kind: 'agent',
    name: 'gated',
    async *stream(input, { signal }) {
      begun.push(String(input))
      if (++atOnce > atMost) throw new Error('too many at once')
      yield { type: 'text', text: 'so: ' }
      signal.addEventListener('abort', () => aborted.resolve())
      await Promise.race([new Promise<void>((resolve) => gates.push(resolve)), aborted.promise])
      atOnce--
      yield { type: 'text', text: String(input) }
    }
  })
  return { agent, gates, begun, aborted: aborted.promise }
}

/** Waits, turn by turn, until something holds. */
export async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setImmediate(resolve))
}
