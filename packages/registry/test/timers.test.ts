import { backoffDelay } from '@svc/registry/kit'
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
