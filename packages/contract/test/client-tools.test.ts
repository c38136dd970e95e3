import { Value } from '@sinclair/typebox/value'
import t from 'tap'
import { ClientToolsSchema } from '../src/inputs.ts'

const tool = (change: object = {}) => ({
  name: 'search',
  description: 'Searches',
  input: { type: 'object' },
  ...change
})
const isValid = (...tools: object[]) => Value.Check(ClientToolsSchema, tools)

t.test('tools of a caller have limits', async (t) => {
  t.ok(isValid(tool()))
  t.ok(isValid(...Array.from({ length: 64 }, (_, index) => tool({ name: `tool-${index}` }))))
  t.notOk(isValid(...Array.from({ length: 65 }, (_, index) => tool({ name: `tool-${index}` }))))
  t.ok(isValid(tool({ name: 'x'.repeat(64), description: 'x'.repeat(4_096) })))
  t.notOk(isValid(tool({ description: 'x'.repeat(4_097) })))
  for (const name of ['', 'x'.repeat(65), 'a b', 'ä']) t.notOk(isValid(tool({ name })), name)
  t.notOk(isValid(tool({ input: { type: 'string' } })))
  t.notOk(isValid(tool({ strict: true })))
})
