import { array, assert, asyncProperty, constantFrom, integer, record, uint8Array } from 'fast-check'
import t from 'tap'
import { CODE_BYTES, CodeTable } from '@svc/contract/stores'
import { distanceOf } from '../helpers/vectors.ts'

const code = uint8Array({ minLength: CODE_BYTES, maxLength: CODE_BYTES })
const change = record({ kind: constantFrom('set', 'set', 'delete'), id: integer({ min: 0, max: 60 }), code })

t.test('finds the nearest codes after any sequence of changes', async () => {
  await assert(
    asyncProperty(
      array(change, { maxLength: 200 }),
      code,
      integer({ min: 1, max: 40 }),
      async (changes, query, count) => {
        const table = new CodeTable<number>()
        const model = new Map<number, Uint8Array>()
        for (const { kind, id, code: each } of changes) {
          if (kind === 'set') {
            table.set(id, each)
            model.set(id, each)
          } else if (table.delete(id) !== model.delete(id)) return false
        }
        const found = await table.nearest(query, count)
        const distances = [...model.values()].map((each) => distanceOf(each, query)).sort((a, b) => a - b)
        return (
          table.size === model.size &&
          new Set(found).size === found.length &&
          JSON.stringify(found.map((id) => distanceOf(model.get(id)!, query))) ===
            JSON.stringify(distances.slice(0, count))
        )
      }
    ),
    { numRuns: 60 }
  )
})

t.test('codes change during a search, and it still finds those that stay', async (t) => {
  const table = new CodeTable<number>()
  const codeOf = (id: number) =>
    new Uint8Array(new Uint32Array(CODE_BYTES / 4).fill(id * 2_654_435_761).buffer)
  for (let id = 1; id <= 30_000; id++) table.set(id, codeOf(id))
  let done = false
  const searches = [29_999, 15_001, 2].map((id) => table.nearest(codeOf(id), 1))
  const all = Promise.all(searches).finally(() => (done = true))
  for (let id = 1; !done; id += 2) {
    if (id !== 15_001 && id !== 29_999) table.delete(id)
    table.set(100_000 + id, codeOf(7))
    if (id % 100 === 1) await new Promise((resolve) => setImmediate(resolve))
  }
  t.same(await all, [[29_999], [15_001], [2]])
})

t.test('takes no more memory for items that come and go', async (t) => {
  const table = new CodeTable<number>()
  for (let id = 0; id < 1_000; id++) table.set(id, new Uint8Array(CODE_BYTES))
  const { bytes } = table
  for (let id = 1_000; id < 20_000; id++) {
    table.delete(id - 1_000)
    table.set(id, new Uint8Array(CODE_BYTES))
  }
  t.equal(table.bytes, bytes)
  t.equal(table.size, 1_000)
})
