import type { RunLog } from '@svc/registry'
import t from 'tap'
import { redactLog } from '../../src/redaction/redact-value.ts'

const key = 'sk-0123456789'

function collect() {
  const lines: unknown[] = []
  const write = (...said: unknown[]) => void lines.push(said)
  const log: RunLog = { debug: write, info: write, warn: write, error: write }
  return { lines, log }
}

t.test('keys are redacted everywhere, the rest is unchanged', (t) => {
  const { lines, log } = collect()
  const redacted = redactLog(log, [key, 'another-key'])
  redacted.info({ a: 1, b: [null, true, `x ${key}`], [key]: { c: key } }, `${key} and another-key`)
  redacted.debug({ at: new Date(0), secret: { toJSON: () => key } })
  t.strictSame(lines, [
    [
      { a: 1, b: [null, true, 'x [redacted]'], '[redacted]': { c: '[redacted]' } },
      '[redacted] and [redacted]'
    ],
    [{ at: '1970-01-01T00:00:00.000Z', secret: '[redacted]' }, undefined]
  ])
  t.end()
})

t.test('errors, their causes, and cycles', (t) => {
  const { lines, log } = collect()
  const cause = Object.assign(new Error(`cause ${key}`), { headers: { key } })
  const circle: Record<string, unknown> = { key }
  circle['self'] = circle
  redactLog(log, [key]).error({ err: new Error(`no good ${key}`, { cause }), circle })
  const text = JSON.stringify(lines)
  t.notMatch(text, key)
  t.match(text, /no good \[redacted\].*cause \[redacted\]/)
  t.end()
})

t.test('without a key, the same log is returned', (t) => {
  const { log } = collect()
  t.equal(redactLog(log, []), log)
  t.equal(redactLog(log, ['a']), log)
  t.end()
})
