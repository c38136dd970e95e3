import { once } from 'node:events'
import { setImmediate as turn } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { createJsonStream, encodePieces, estimateLength, isShort } from '../src/json.ts'
import * as fc from 'fast-check'
import t from 'tap'

const join = (value: unknown) => [...encodePieces(value)].join('')

t.test('the pieces join to the JSON of the value', async () => {
  const text = '“a\\"\n𝄞'.repeat(5_000)
  const long = fc.constantFrom(text, `${text}${text}`, text.slice(0, 32_767), text.slice(0, 32_768))
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 3 },
      fc.jsonValue({ maxDepth: 2 }),
      long,
      fc.array(tie('value'), { maxLength: 4 }),
      fc.dictionary(fc.oneof(fc.string(), long), tie('value'), { maxKeys: 4 })
    )
  }))
  fc.assert(
    fc.property(value, (any) => join(any) === JSON.stringify(any)),
    { numRuns: 100 }
  )
})

t.test('pieces are short for any long value', async (t) => {
  const values = {
    text: 'x'.repeat(1e6),
    escaped: '\u0000'.repeat(1e6),
    'halves of pairs': '\ud834'.repeat(1e5) + '𝄞'.repeat(1e5),
    list: Array.from({ length: 1e5 }, (_, index) => index),
    object: Object.fromEntries(Array.from({ length: 1e5 }, (_, index) => [`key ${index}`, { index }])),
    names: { ['n'.repeat(1e5)]: null, ['m'.repeat(1e5)]: [1], short: true },
    keys: { 1: 'x'.repeat(1e5), 0: 'y'.repeat(1e5), __proto__x: [undefined, () => {}, null] },
    deep: Array.from({ length: 500 }).reduce<unknown>((inner) => [inner, { inner: 1 }], 'x'.repeat(1e5)),
    none: { a: undefined, b: 'x'.repeat(1e5), c: undefined, d: () => {}, e: Symbol('e') },
    empty: [[], {}, '', 'x'.repeat(1e5), [], {}]
  }
  for (const [name, value] of Object.entries(values)) {
    const pieces = [...encodePieces(value)]
    t.ok(pieces.join('') === JSON.stringify(value), name)
    const longest = Math.max(...pieces.map(({ length }) => length))
    t.ok(longest < 6 * 32_768 + 1_000, `${name}: ${longest} characters`)
    t.notOk(isShort(value, 65_536), name)
  }
})

t.test('a length is estimated up to the given limit only', async (t) => {
  let seen = 0
  const list = Array.from({ length: 1e5 }, (_, index) => ({
    get index() {
      seen++
      return index
    }
  }))
  t.ok(estimateLength(list, 1_000) > 1_000)
  t.ok(seen < 1_000, `${seen} items`)
  t.equal(isShort('x'.repeat(100), 99), false)
  t.equal(isShort({ a: [1, 'b', null] }, 99), true)
})

t.test('a stream that is done holds its value no longer', async (t) => {
  setFlagsFromString('--expose-gc')
  const collectGarbage = runInNewContext('gc') as () => void
  const begin = () => {
    const value = { text: ['x'.repeat(100_000)] }
    return { stream: createJsonStream(encodePieces(value)), held: new WeakRef(value) }
  }
  const { stream, held } = begin()
  stream.resume()
  await once(stream, 'end')
  await turn()
  collectGarbage()
  t.equal(held.deref(), undefined)
  t.ok(stream.readableEnded)
})
