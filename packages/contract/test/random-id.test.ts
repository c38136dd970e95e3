import { randomId } from '../src/names.ts'
import t from 'tap'

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

t.test('ids are unique UUIDs of version 4, with every free bit random', async (t) => {
  const count = 20_000
  const ids = Array.from({ length: count }, randomId)
  t.same(
    ids.filter((id) => !UUID.test(id)),
    []
  )
  t.equal(new Set(ids).size, count)
  const ones = Array.from({ length: 128 }, () => 0)
  for (const id of ids) {
    const bits = BigInt(`0x${id.replaceAll('-', '')}`)
    for (let bit = 0; bit < 128; bit++) ones[bit]! += Number((bits >> BigInt(bit)) & 1n)
  }
  // Six standard deviations around one half.
  const isRandom = (found: number) => Math.abs(found - count / 2) < 6 * Math.sqrt(count / 4)
  const fixed = ones.filter((found) => !isRandom(found))
  t.same(
    fixed.toSorted((a, b) => a - b),
    [0, 0, 0, 0, count, count]
  )
})
