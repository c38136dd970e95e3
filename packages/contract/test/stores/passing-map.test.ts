import { array, assert, constantFrom, integer, property, record } from 'fast-check'
import t from 'tap'
import { PassingMap, type Slot } from '../../src/stores/passing-map.ts'

const key = integer({ min: 0, max: 2_000 })
const change = record({ kind: constantFrom('set', 'delete', 'leave'), key })

t.test('behaves like a Map under any sequence of changes', async () => {
  assert(
    property(array(change, { minLength: 2_000, maxLength: 8_000 }), (changes) => {
      const map = new PassingMap<number, { key: number }>()
      const model = new Map<number, { key: number }>()
      const places = new Map<number, Slot<{ key: number }>>()
      for (const { kind, key: each } of changes) {
        if (kind === 'leave') {
          if (map.leave(places.get(each)) !== model.delete(each)) return false
        } else if (kind === 'delete') {
          if (map.delete(each) !== model.delete(each)) return false
        } else {
          const value = { key: each }
          places.set(each, map.set(each, value))
          model.set(each, value)
        }
        if (map.size !== model.size || map.get(each) !== model.get(each) || map.has(each) !== model.has(each))
          return false
      }
      const values = map.values()
      return values.length === model.size && values.every((value) => model.get(value.key) === value)
    }),
    { numRuns: 20 }
  )
})

t.test('an entry survives thousands of additions and removals', async (t) => {
  const map = new PassingMap<number, { key: number }>()
  map.set(-1, { key: -1 })
  for (let key = 0; key < 10_000; key++) {
    map.set(key, { key })
    map.delete(key)
  }
  t.strictSame(map.values(), [{ key: -1 }])
  t.equal(map.size, 1)
  t.strictSame(map.get(-1), { key: -1 })
})
