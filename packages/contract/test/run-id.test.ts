import { newRunId } from '../src/names.ts'
import t from 'tap'

const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

t.test('ids begin with the time: they sort by it, millisecond by millisecond', async (t) => {
  const second = Array.from({ length: 1_000 }, (_, index) => 1_800_000_000_000 + index)
  const times = [0, 1, 61, 62, 999, 1_000, 35_000, 36_000, ...second, 1_800_000_001_000, 7e13]
  const ids = times.map((time) => newRunId(time))
  t.same(ids.toSorted(), ids)
  t.same(
    ids.map((id) => Number.parseInt(id.slice(0, 7), 36)),
    times.map((time) => Math.floor(time / 1_000))
  )
  t.equal(newRunId().slice(0, 6), newRunId(Date.now()).slice(0, 6))
})

t.test('the rest is random: 22 digits, each equally frequent at each place', async (t) => {
  const count = 31_000
  const ids = Array.from({ length: count }, () => newRunId(1_800_000_000_000))
  t.ok(ids.every((id) => /^[0-9a-z]{7}[0-9A-Za-z]{24}$/.test(id)))
  t.equal(new Set(ids).size, count)
  const rare: string[] = []
  for (let place = 9; place < 31; place++) {
    const found = new Map<string, number>()
    for (const id of ids) found.set(id[place]!, (found.get(id[place]!) ?? 0) + 1)
    // Seven standard deviations.
    for (const digit of DIGITS)
      if (Math.abs((found.get(digit) ?? 0) - count / 62) > 7 * Math.sqrt(count / 62))
        rare.push(`${place} ${digit}`)
  }
  t.same(rare, [])
})
