import { array, assert, constantFrom, integer, property, record } from 'fast-check'
import t from 'tap'
import { AgingMap } from '../../src/stores/in-process/aging-map.ts'

interface Thing {
  key: string
  weight: number
}

const weigh = ({ weight }: Thing) => weight
const change = record({
  kind: constantFrom('add', 'add', 'add', 'remove'),
  key: integer({ min: 0, max: 99 }).map(String),
  weight: constantFrom(0, 1, 1, 1, 5, 40)
})

t.test('keeps the newest entries within its limits, and reports those it drops', async () => {
  const limits = { maxSize: integer({ min: 0, max: 60 }), maxWeight: integer({ min: 0, max: 120 }) }
  assert(
    property(record(limits), array(change, { maxLength: 400 }), ({ maxSize, maxWeight }, changes) => {
      const model = new Map<string, Thing>()
      const dropped: string[] = []
      const map = new AgingMap<Thing>({
        maxSize,
        maxWeight,
        weigh,
        onDrop: (things) => dropped.push(...[...things].map(({ key }) => key))
      })
      for (const { kind, key, weight } of changes) {
        if (kind === 'remove' || model.has(key)) {
          if (map.remove(key) !== model.get(key)) return false
          model.delete(key)
        } else {
          const thing = { key, weight }
          model.set(key, thing)
          map.add(key, thing)
        }
        // Drops the oldest entries only: the excess, and at most a tenth of the limits more.
        for (const gone of dropped.splice(0)) {
          if (gone !== model.keys().next().value) return false
          model.delete(gone)
        }
        const kept = [...map.values()]
        const total = kept.reduce((sum, thing) => sum + thing.weight, 0)
        if (kept.length > maxSize || (total > maxWeight && kept.length > 1)) return false
        if (map.size !== model.size || kept.some((thing, at) => thing !== [...model.values()][at]))
          return false
        for (const thing of model.values()) if (map.get(thing.key) !== thing) return false
      }
      return true
    }),
    { numRuns: 300 }
  )
})

t.test('drops a tenth of the entries at a time', async (t) => {
  const map = new AgingMap<Thing>({ maxSize: 1_000, maxWeight: 1e9, weigh })
  let least = Number.POSITIVE_INFINITY
  for (let n = 0; n < 5_000; n++) {
    map.add(String(n), { key: String(n), weight: 1 })
    if (n >= 1_000) least = Math.min(least, map.size)
  }
  t.equal(least, 901)
  t.equal(map.get('4000')?.key, '4000')
  t.equal(map.get('3999'), undefined)
})

t.test('a heavy entry is dropped without the others', async (t) => {
  const map = new AgingMap<Thing>({ maxSize: 1_000, maxWeight: 100, weigh })
  const add = (key: string, weight: number) => map.add(key, { key, weight })
  add('heavy', 90)
  for (let n = 0; n < 10; n++) add(String(n), 1)
  t.ok(map.get('heavy'))
  add('one more', 1)
  t.notOk(map.get('heavy'))
  t.equal(map.size, 11)
  add('too heavy', 1_000)
  t.same(
    [...map.values()].map(({ key }) => key),
    ['too heavy']
  )
})

t.test('kept entries stay, however old, unless one exceeds the weight limit', async (t) => {
  const keeps = ({ key }: Thing) => key.startsWith('stay')
  const map = new AgingMap<Thing>({ maxSize: 20, maxWeight: 100, weigh, keeps })
  const add = (key: string, weight = 1) => map.add(key, { key, weight })
  for (let n = 0; n < 5; n++) add(`stay ${n}`)
  for (let n = 0; n < 200; n++) add(String(n))
  t.same(
    [...map.values()].filter(keeps).map(({ key }) => key),
    [0, 1, 2, 3, 4].map((n) => `stay ${n}`)
  )
  t.ok(map.size <= 20)
  for (let n = 5; n < 30; n++) add(`stay ${n}`)
  t.equal(map.size, 30, 'kept entries may exceed the maximum size')
  add('too heavy', 1_000)
  t.same(
    [...map.values()].map(({ key }) => key),
    ['too heavy']
  )
})
