import t from 'tap'
import { parseArgs } from '../../src/json/json.ts'

t.test('JSON', async (t) => {
  t.strictSame(parseArgs('{"a":[1]}'), { args: { a: [1] } })
  t.strictSame(parseArgs('[1]'), { args: [1] })
  t.strictSame(parseArgs(' '), { args: {} }, 'a tool without arguments may get none')
})

t.test('invalid JSON is kept as text, with its fault', async (t) => {
  t.match(parseArgs('{"a":'), { args: '{"a":', fault: /not JSON/ })
  const deep = '['.repeat(100_000) + ']'.repeat(100_000)
  t.match(parseArgs(deep), { args: deep, fault: /deeper than 128/ })
})
