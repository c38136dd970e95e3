import { assert, integer, nat, option, property, record } from 'fast-check'
import t from 'tap'
import { retryDelay } from '../../src/models/call-report.ts'

const retry = { attempts: 4, baseDelay: 500, maxDelay: 1_500 }
const fault = { error: new Error('x'), transient: true, details: {} }

t.test('the longest wait doubles, up to the cap; full jitter is anything below', async (t) => {
  const longest = (attempt: number) => retryDelay(fault, attempt, retry, () => 1)
  t.strictSame([1, 2, 3, 4].map(longest), [500, 1_000, 1_500, undefined])
  t.equal(
    retryDelay(fault, 1, retry, () => 0),
    0
  )
})

t.test('the provider knows better', async (t) => {
  t.equal(retryDelay({ ...fault, retryAfter: 1_400 }, 1, retry), 1_400)
  t.equal(retryDelay({ ...fault, retryAfter: 1_501 }, 1, retry), undefined)
  t.equal(
    retryDelay({ ...fault, retryAfter: 0 }, 1, retry, () => 1),
    500,
    'at once is too soon'
  )
})

t.test('what is not transient is not tried again', async (t) => {
  t.equal(retryDelay({ ...fault, transient: false }, 1, retry), undefined)
})

t.test('no wait is ever longer than the cap, or negative', async () => {
  const numbers = record({
    baseDelay: nat(),
    maxDelay: nat(),
    attempts: integer({ min: 1, max: 2_000 })
  })
  assert(
    property(numbers, integer({ min: 1, max: 2_000 }), option(nat()), (options, attempt, retryAfter) => {
      const delay = retryDelay({ ...fault, ...(retryAfter !== null && { retryAfter }) }, attempt, options)
      return delay === undefined || (delay >= 0 && delay <= options.maxDelay)
    })
  )
})
