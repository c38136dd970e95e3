import t from 'tap'
import { createRedact } from '../../src/redaction/redact-value.ts'

const key = 'sk-"quoted"-\\-ü'

t.test('keys are redacted everywhere, the rest is unchanged', (t) => {
  const redact = createRedact([key, 'another-key'])!
  const value = {
    a: 1,
    b: [null, true, `x ${key}`],
    [key]: { deep: [{ c: 'another-key' }] },
    none: undefined
  }
  t.strictSame(redact(value), {
    a: 1,
    b: [null, true, 'x [redacted]'],
    '[redacted]': { deep: [{ c: '[redacted]' }] }
  })
  t.equal(redact(`${key} and another-key`), '[redacted] and [redacted]')
  t.strictSame(
    redact(JSON.parse(`{"__proto__":${JSON.stringify([key])}}`)),
    JSON.parse('{"__proto__":["[redacted]"]}')
  )
  t.end()
})

t.test('a value without keys is returned itself', (t) => {
  const redact = createRedact([key])!
  const circle: Record<string, unknown> = {}
  circle['self'] = circle
  for (const value of [{ a: [1] }, 'text', 5, null, undefined, circle, 1n, () => key])
    t.equal(redact(value), value)
  t.end()
})

t.test('short keys are not redacted', (t) => {
  t.equal(createRedact([]), undefined)
  t.equal(createRedact(['', 'short']), undefined)
  t.end()
})
