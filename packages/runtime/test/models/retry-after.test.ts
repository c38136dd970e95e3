import t from 'tap'
import { readRetryAfter } from '../../src/models/model-fault.ts'

const now = Date.parse('2026-01-01T00:00:00Z')
const read = (headers: unknown) => readRetryAfter(headers, now)

t.test('what a response asks to wait, in milliseconds', async (t) => {
  t.equal(read({ 'retry-after': '3' }), 3_000)
  t.equal(read({ 'retry-after': ' 0.5 ' }), 500)
  t.equal(read({ 'Retry-After': '3' }), 3_000)
  t.equal(read(new Headers({ 'retry-after': '3' })), 3_000)
  t.equal(read({ 'retry-after': 'Thu, 01 Jan 2026 00:00:07 GMT' }), 7_000)
  t.equal(read({ 'retry-after': 'Wed, 31 Dec 2025 00:00:00 GMT' }), 0)
  t.equal(read({ 'retry-after-ms': '250', 'retry-after': '3' }), 250)
  t.equal(read({ 'retry-after-ms': 'soon', 'retry-after': '3' }), 3_000)
})

t.test('what it does not say', async (t) => {
  for (const headers of [
    undefined,
    null,
    'x',
    {},
    { 'retry-after': '' },
    { 'retry-after': 'soon' },
    { 'retry-after': 5 }
  ])
    t.equal(read(headers), undefined)
})
