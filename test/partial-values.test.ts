import t from 'tap'
import { Random } from '../bench/soak/random.ts'
import { growsInto, randomJson, randomObject, split } from './helpers/random-objects.ts'
import { cases } from '@tools/wires/volume'
import { PartialObjects } from '@svc/contract'

const text = (said: string, source?: string[]) =>
  ({ type: 'text', text: said, ...(source && { source }) }) as const
const step = (attempt = 1) => ({ type: 'step.start', index: 0, attempt }) as const

/** The value after each text, as far as there is a new one. */
function read(...texts: string[]): unknown[] {
  const objects = new PartialObjects()
  objects.add(step())
  return texts.flatMap((said, index) => {
    objects.add(text(said))
    const value = objects.take(index * 10_000)
    return value === undefined ? [] : [value]
  })
}

t.test('each value of 200 objects, split at random, grows into the final one', async (t) => {
  const random = new Random(42)
  const objects = Array.from({ length: 200 }, () => randomObject(random))
  let values = 0
  for (let round = 0; round < cases(10_000); round++) {
    const whole = objects[round % objects.length]!
    const json = randomJson(random, whole)
    const seen = read(...split(random, json, random.pick([1, 4, 30, 200])))
    let last = seen[0]
    for (const value of seen) {
      if (!growsInto(last, value)) t.fail('it grows from one value to the next', { json, last, value })
      if (!growsInto(value, whole)) t.fail('it grows into the final value', { json, value })
      if (!JSON.stringify(value).isWellFormed()) t.fail('no half of a character', { json, value })
      last = value
    }
    if (JSON.stringify(last) !== JSON.stringify(whole))
      t.fail('the last value is the final one', { json, last })
    values += seen.length
  }
  t.ok(values > cases(10_000), `${values} values`)
})

t.test('what is not finished is left out, but texts', async (t) => {
  t.strictSame(read('{'), [{}])
  t.strictSame(read('{"na'), [{}])
  t.strictSame(read('{"name"'), [{}])
  t.strictSame(read('{"name": "'), [{ name: '' }])
  t.strictSame(read('{"name": "An'), [{ name: 'An' }])
  t.strictSame(read('{"name": "An\\'), [{ name: 'An' }])
  t.strictSame(read('{"name": "An\\u00'), [{ name: 'An' }])
  t.strictSame(read('{"name": "\\ud83d'), [{ name: '' }], 'half of an escaped pair')
  t.strictSame(read('{"name": "\ud83d'), [{ name: '' }], 'half of a pair')
  t.strictSame(read('{"age": 3'), [{}])
  t.strictSame(read('{"age": 3,'), [{ age: 3 }])
  t.strictSame(read('[tru'), [[]])
  t.strictSame(read('[true'), [[]])
  t.strictSame(read('[true]'), [[true]])
  t.strictSame(read('[[1, 2], [3'), [[[1, 2], []]])
})

t.test('the same value is not given twice', async (t) => {
  t.strictSame(read('{"a": 1', ',', '  ', '"b', '"', ':', ' ', '2', '}', ' '), [{}, { a: 1 }, { a: 1, b: 2 }])
})

t.test('values are 50 ms apart, those of long answers more', async (t) => {
  const objects = new PartialObjects()
  objects.add(step())
  t.equal(objects.dueIn(0), undefined)
  objects.add(text('["a'))
  t.equal(objects.dueIn(0), 0)
  t.strictSame(objects.take(0), ['a'])
  t.equal(objects.dueIn(1), undefined, 'nothing is new')
  objects.add(text('b'))
  t.equal(objects.dueIn(10), 40)
  t.equal(objects.take(49), undefined)
  t.strictSame(objects.take(50), ['ab'])
  objects.add(text('c'.repeat(100 * 1024)))
  t.equal(objects.take(149), undefined)
  t.ok(objects.take(151))
})

t.test('a step and an attempt begin anew, and members have no part in it', async (t) => {
  const objects = new PartialObjects()
  objects.add(text('{"unknown beginning": ['))
  t.equal(objects.take(0), undefined)
  objects.add(step())
  objects.add(text('{"a": [1,'))
  objects.add(text('2', ['ada']))
  objects.add({ ...step(), source: ['ada'] })
  t.strictSame(objects.take(0), { a: [1] })
  objects.add(step(2))
  objects.add(text('{"b": [2,'))
  t.strictSame(objects.take(100), { b: [2] })
  objects.add({ type: 'structured', value: { b: [2] } })
  t.equal(objects.dueIn(200), undefined)
  t.equal(objects.take(200), undefined)
})

t.test('there are no values of what is no JSON', async (t) => {
  t.strictSame(read('Here is ', '{"a": 1}'), [])
  t.strictSame(read('"a text"', '3', 'true'), [])
  t.strictSame(read('[1, 2', ' 3]', ', 4]'), [[1]])
  t.strictSame(read('{"a" "b"'), [])
  t.strictSame(read('{1: 2}'), [])
  t.strictSame(read('[1,]'), [])
  t.strictSame(read('{"a": 1,}'), [])
  t.strictSame(read('{"a": [1}'), [])
  t.strictSame(read('[nil,'), [])
  t.strictSame(read('[01,'), [])
  t.strictSame(read('["\n'), [], 'a raw line break in a string')
  t.strictSame(read(String.raw`["\x`), [])
  t.strictSame(read('```json and more\n{"a": 1}'), [])
  t.strictSame(read('```', 'js', 'on\n{"a": 1,', '"b": 2}\n```', '\n'), [{ a: 1 }, { a: 1, b: 2 }])
})

t.test('hostile JSON does no harm', async (t) => {
  const [value] = read('{"__proto__": {"polluted": true}, "a": 1,') as [object]
  t.equal(Object.getPrototypeOf(value), Object.prototype)
  t.equal((value as { polluted?: boolean }).polluted, undefined)
  t.strictSame(read('{"a": 1,', '"a": 2}'), [{ a: 1 }, { a: 2 }], 'the last of two keys counts')
  t.strictSame(read('['.repeat(64)).length, 1)
  t.strictSame(read('['.repeat(65)), [])
  t.strictSame(read('{"a":'.repeat(10_000)), [])
  t.strictSame(read(']'.repeat(10_000)), [])
  const [large] = read(`["${'x'.repeat(1024 * 1024 - 2)}`) as [string[]]
  t.equal(large[0]?.length, 1024 * 1024 - 2)
  t.strictSame(read('["', 'ä'.repeat(512 * 1024), '"]'), [['']], 'more than 1 MiB')
})
