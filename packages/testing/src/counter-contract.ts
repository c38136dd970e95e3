import { setTimeout as pause } from 'node:timers/promises'
import type { CounterStore } from '@svc/contract'
import { HOSTILE_TEXT, withStore, type ContractTest, type MakeStore } from './contract-test.ts'

const HOUR = 3_600_000

/** The contract of every `CounterStore`. */
export function counterStoreContract(t: ContractTest, make: MakeStore<CounterStore>): void {
  withStore(t, make, 'counts each key, calls at the same time too', async (t, store) => {
    const keys = ['a', 'b', HOSTILE_TEXT, 'x'.repeat(10_000), `${'x'.repeat(10_000)}y`]
    for (const key of keys) {
      const counted = await Promise.all([1, 2, 3].map(async () => store.increment(key, { length: HOUR })))
      t.same(
        counted.map(({ count }) => count).toSorted((a, b) => a - b),
        [1, 2, 3]
      )
      t.ok(counted.every(({ left }) => left > HOUR - 60_000 && left <= HOUR))
    }
    t.equal((await store.increment('a', { length: HOUR })).count, 4)
  })

  withStore(t, make, 'begins again after the end of a window', async (t, store) => {
    const window = { length: 20 }
    await store.increment('a', window)
    const { count, left } = await store.increment('b', { length: HOUR })
    t.equal(count, 1)
    t.ok(left > 1_000, 'another key has its own window')
    for (;;) {
      // Each wait ends a window.
      await pause(40)
      const again = await store.increment('a', window)
      if (again.count === 1) break
    }
    t.equal((await store.increment('b', { length: HOUR })).count, 2)
  })

  withStore(t, make, 'counts beyond a limit extend the window', async (t, store) => {
    const counts = async (key: string, extension: 'restart' | 'double') => {
      const lefts: number[] = []
      for (let count = 0; count < 5; count++) {
        // Later windows are longer than the first.
        const length = count === 0 ? HOUR / 2 : HOUR
        lefts.push((await store.increment(key, { length, max: 2, extension })).left)
      }
      return lefts.map((left) => Math.round((left / HOUR) * 2) / 2)
    }
    t.same(await counts('a', 'restart'), [0.5, 0.5, 1, 1, 1])
    t.same(await counts('b', 'double'), [0.5, 0.5, 1, 2, 4])
    for (let count = 0; count < 80; count++)
      await store.increment('c', { length: HOUR, max: 0, extension: 'double' })
    t.ok((await store.increment('c', { length: HOUR, max: 0, extension: 'double' })).left <= 1e12)
  })
}
