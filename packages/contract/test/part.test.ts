import { isTerminalPart, PART_SCHEMAS } from '../src/part.ts'
import { Value } from '@sinclair/typebox/value'
import t from 'tap'

t.test('every part schema is listed under its type', async (t) => {
  for (const [type, schema] of Object.entries(PART_SCHEMAS)) t.equal(schema.properties.type.const, type)
})

t.test('a source is a list of strings', async (t) => {
  const text = { type: 'text', text: 'a' }
  t.ok(Value.Check(PART_SCHEMAS.text, text))
  t.ok(Value.Check(PART_SCHEMAS.text, { ...text, source: ['a', 'b'], seq: 1 }))
  for (const source of ['a', null, [1], { 0: 'a' }])
    t.notOk(Value.Check(PART_SCHEMAS.text, { ...text, source }))
})

t.test('only the run’s own last part is terminal', async (t) => {
  for (const type of Object.keys(PART_SCHEMAS)) {
    const ends = type === 'finish' || type === 'error'
    t.equal(isTerminalPart({ type }), ends, type)
    t.equal(isTerminalPart({ type, source: [] }), ends, type)
    t.equal(isTerminalPart({ type, source: ['member'] }), false, type)
  }
})
