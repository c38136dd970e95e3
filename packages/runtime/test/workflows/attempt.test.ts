import { getEventListeners } from 'node:events'
import t from 'tap'
import { attempt, type Place } from '../../src/workflows/attempt.ts'

t.test('a step that is retried leaves no listener at the signal of its block', async (t) => {
  const { signal } = new AbortController()
  const place = { signal, context: {}, emit: async () => {} } as unknown as Place
  const retry = { attempts: 4, baseDelay: 1 }
  const counts: number[] = []
  const work = async (_guard: unknown, count: number) => {
    counts.push(getEventListeners(signal, 'abort').length)
    if (count < 3) throw new Error('not yet')
    return 'done'
  }
  t.equal(await attempt('step', { retry }, place, work), 'done')
  t.strictSame(counts, [1, 1, 1], 'its own guard')
  t.strictSame(getEventListeners(signal, 'abort'), [])
})
