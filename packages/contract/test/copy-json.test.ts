import { copyJson } from '@svc/contract'
import { cases } from '@tools/wires/volume'
import { anything, assert, jsonValue, oneof, property } from 'fast-check'
import t from 'tap'

const any = anything({ withDate: true, withMap: true, withNullPrototype: true, withSparseArray: true })

t.test('a copy is what encoding and parsing would make', async () => {
  assert(
    property(oneof(jsonValue(), any), (value) => {
      const copy = copyJson(value)
      if (copy === undefined) return true
      const json = JSON.stringify(value)
      return JSON.stringify(copy.value) === json && Buffer.byteLength(json) <= copy.size * 6
    }),
    { numRuns: cases(4_000) }
  )
})

t.test('a copy shares nothing, and small JSON has one', async (t) => {
  const given = { list: [1, { deep: 'yes' }], text: 'über', none: null, no: false }
  const copy = copyJson(given)
  t.strictSame(copy, { value: structuredClone(given), size: copy!.size })
  const { list } = copy!.value as typeof given
  t.not(list, given.list)
  t.not(list[1], given.list[1])
  t.strictSame(copyJson(Object.assign(Object.create(null), { a: 1 }))?.value, { a: 1 })
})

t.test('anything that JSON changes, and what is large or deep, has none', async (t) => {
  let deep: unknown = 1
  for (let depth = 0; depth < 20; depth++) deep = [deep]
  class Own {
    a = 1
  }
  const cases: Record<string, unknown> = {
    undefined,
    'a field of undefined': { a: undefined },
    'a hole': Object.assign([1], { length: 2 }),
    NaN,
    'minus zero': [-0],
    'a BigInt': 5n,
    'a function': () => 1,
    'a toJSON': { toJSON: () => 1 },
    'a date': new Date(0),
    'a map': new Map(),
    'an object of a class': new Own(),
    'a list of a class': new (class extends Array {})(),
    'a key __proto__': JSON.parse('{"__proto__":{"a":1}}'),
    'half of a pair': '\ud800',
    'half of a pair in a key': { '\ud800': 1 },
    'a getter that throws': {
      get a() {
        throw new Error('no')
      }
    },
    deep,
    large: 'x'.repeat(5_000),
    long: Array.from({ length: 5_000 }, () => 1)
  }
  for (const [name, value] of Object.entries(cases)) t.equal(copyJson(value), undefined, name)
})
