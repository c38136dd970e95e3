import { backoffDelay, unlessAborted, unlessLate } from '../src/awaitable.ts'
import t from 'tap'

const backoff = { baseDelay: 100, maxDelay: 1_000 }

t.test('a pause doubles with each failure, up to the maximum', async (t) => {
  const longest = (failures: number) => backoffDelay(failures, backoff, () => 1)
  t.strictSame([1, 2, 3, 4, 5, 2_000].map(longest), [100, 200, 400, 800, 1_000, 1_000])
})

t.test('jitter covers the whole pause, or the part that steadiness leaves', async (t) => {
  t.equal(
    backoffDelay(1, backoff, () => 0),
    0
  )
  t.equal(
    backoffDelay(1, { ...backoff, steadiness: 0.5 }, () => 0),
    50
  )
  t.equal(
    backoffDelay(1, { ...backoff, steadiness: 0.5 }, () => 1),
    100
  )
})

t.test('work settles, unless a signal aborts first', async (t) => {
  const controller = new AbortController()
  const { signal } = controller
  t.equal(await unlessAborted(signal, () => Promise.resolve(1)), 1)
  await t.rejects(
    unlessAborted(signal, () => Promise.reject(new Error('fault'))),
    { message: 'fault' }
  )
  const waiting = unlessAborted(signal, () => new Promise(() => {}))
  controller.abort(new Error('gone'))
  await t.rejects(waiting, { message: 'gone' })
  let begun = false
  await t.rejects(
    unlessAborted(signal, () => (begun = true)),
    { message: 'gone' }
  )
  t.notOk(begun)
})

t.test('work settles, unless it is late', async (t) => {
  const late = () => new Error('late')
  t.equal(await unlessLate(60_000, late, 1), 1)
  await t.rejects(unlessLate(60_000, late, Promise.reject(new Error('fault'))), { message: 'fault' })
  await t.rejects(unlessLate(1, late, new Promise(() => {})), { message: 'late' })
})
