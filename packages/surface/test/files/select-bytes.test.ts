import { cases } from '@tools/wires/volume'
import * as fc from 'fast-check'
import t from 'tap'
import { selectBytes } from '../../src/files/send-file.ts'

t.test('the examples of RFC 9110, section 14.1.2, for 10,000 bytes', async (t) => {
  const cases: [range: string, start: number, end: number][] = [
    ['bytes=0-499', 0, 500],
    ['bytes=500-999', 500, 1_000],
    ['bytes=-500', 9_500, 10_000],
    ['bytes=9500-', 9_500, 10_000],
    ['bytes=0-0', 0, 1],
    ['bytes=-1', 9_999, 10_000]
  ]
  for (const [range, start, end] of cases) t.strictSame(selectBytes(range, 10_000), { start, end }, range)
})

t.test('what exceeds the file is cut, what begins beyond it has no bytes', async (t) => {
  t.strictSame(selectBytes('bytes=8-99', 10), { start: 8, end: 10 })
  t.strictSame(selectBytes('bytes=-99', 10), { start: 0, end: 10 })
  t.strictSame(selectBytes(`bytes=0-${'9'.repeat(400)}`, 10), { start: 0, end: 10 })
  for (const range of ['10-', '10-20', '-0', `${'9'.repeat(400)}-`, `${'9'.repeat(400)}-${'9'.repeat(401)}`])
    t.equal(selectBytes(`bytes=${range}`, 10), null, range)
})

t.test('an empty file has no range but its end', async (t) => {
  for (const range of ['0-', '0-0', '-0']) t.equal(selectBytes(`bytes=${range}`, 0), null, range)
  t.equal(selectBytes('bytes=-5', 0), undefined)
})

t.test('spellings', async (t) => {
  for (const range of ['Bytes=2-3', 'bytes= 2-3', 'bytes=2-3 ', 'bytes=,2-3', 'bytes=\t2-3\t, ,'])
    t.strictSame(selectBytes(range, 10), { start: 2, end: 4 }, range)
})

t.test('the whole file for what is malformed, of another unit, or several ranges', async (t) => {
  const others = ['', 'bytes', 'bytes=', 'bytes=-', 'bytes=a-b', 'bytes=1', 'bytes=3-2', 'bytes=0-1,2-3']
  const worse = [
    'bytes=1-2-3',
    'bytes=+1-2',
    'bytes=0x1-2',
    'bytes=1.0-2',
    'bytes=١-٢',
    'items=0-1',
    '0-1',
    'bytes 0-1'
  ]
  for (const range of [undefined, ...others, ...worse]) t.equal(selectBytes(range, 10), undefined, `${range}`)
})

/** The selected bytes by the words of the RFC, byte by byte. */
function reference(first: bigint | undefined, last: bigint | undefined, size: number): number[] | 'whole' {
  const all = Array.from({ length: size }, (_, index) => index)
  if (first === undefined) return last === undefined ? 'whole' : all.filter((at) => BigInt(size - at) <= last)
  if (last !== undefined && last < first) return 'whole'
  return all.filter((at) => BigInt(at) >= first && (last === undefined || BigInt(at) <= last))
}

t.test('any range selects what the RFC says', async () => {
  const position = fc.option(
    fc.oneof(fc.nat({ max: 60 }).map(BigInt), fc.bigInt({ min: 0n, max: 2n ** 52n })),
    {
      nil: undefined
    }
  )
  fc.assert(
    fc.property(position, position, fc.integer({ min: 1, max: 50 }), (first, last, size) => {
      const selected = selectBytes(`bytes=${first ?? ''}-${last ?? ''}`, size)
      const expected = reference(first, last, size)
      if (expected === 'whole') return selected === undefined
      if (expected.length === 0) return selected === null
      return selected?.start === expected[0] && selected?.end === expected.at(-1)! + 1
    }),
    { numRuns: cases(5_000) }
  )
})

t.test('any text selects bytes of the file, none of it, or all of it', async () => {
  const text = fc.oneof(fc.string(), fc.stringMatching(/^bytes=[\d,\- ]{0,20}$/))
  fc.assert(
    fc.property(text, fc.nat({ max: 100 }), (range, size) => {
      const selected = selectBytes(range, size)
      if (selected === undefined || selected === null) return true
      const { start, end } = selected
      return Number.isInteger(start) && Number.isInteger(end) && 0 <= start && start < end && end <= size
    }),
    { numRuns: cases(5_000) }
  )
})
