import * as fc from 'fast-check'
import t from 'tap'
import { loadResampler, type OpenResampler } from '../../src/audio/resample.ts'

const RATES = [8_000, 16_000, 22_050, 24_000, 44_100, 48_000]
const open = await loadResampler()

const rates = fc.tuple(fc.constantFrom(...RATES), fc.constantFrom(...RATES))
const cuts = fc.array(fc.integer({ min: 0, max: 9_000 }), { maxLength: 12 })

function sine(seconds: number, rate: number, hertz = 440) {
  return Int16Array.from(
    { length: seconds * rate },
    (_, at) => 12_000 * Math.sin((2 * Math.PI * hertz * at) / rate)
  )
}

/** Resamples in pieces of the given lengths, and the rest at once. */
function inPieces(
  openResampler: OpenResampler,
  samples: Int16Array,
  lengths: number[],
  [from, to]: [number, number]
) {
  const resampler = openResampler(from, to)
  const pieces: Int16Array[] = []
  let at = 0
  for (const length of lengths) {
    pieces.push(resampler.push(samples.subarray(at, at + length)))
    at += length
  }
  pieces.push(resampler.push(samples.subarray(at)), resampler.flush())
  resampler.close()
  return Int16Array.from(pieces.flatMap((piece) => [...piece]))
}

const energy = (samples: Int16Array) => samples.reduce((sum, sample) => sum + sample ** 2, 0) / samples.length

t.test('duration and loudness stay', async () => {
  fc.assert(
    fc.property(rates, fc.integer({ min: 150, max: 3_000 }), ([from, to], hertz) => {
      const samples = sine(0.5, from, hertz)
      const output = inPieces(open, samples, [], [from, to])
      const ratio = energy(output) / energy(samples)
      return output.length === Math.round((samples.length * to) / from) && ratio > 0.9 && ratio < 1.1
    }),
    { numRuns: 60 }
  )
})

t.test('pieces are no different from the whole: no clicks where they meet', async () => {
  fc.assert(
    fc.property(rates, cuts, (pair, lengths) => {
      const samples = sine(0.4, pair[0])
      const whole = inPieces(open, samples, [], pair)
      const pieces = inPieces(open, samples, lengths, pair)
      return Buffer.compare(Buffer.from(whole.buffer), Buffer.from(pieces.buffer)) === 0
    }),
    { numRuns: 60 }
  )
})

t.test('the output is where the input is, and a stream after `flush` begins afresh', async (t) => {
  for (const [from, to] of [
    [24_000, 16_000],
    [8_000, 48_000]
  ] as const) {
    const resampler = open(from, to)
    const rounds = [1, 2].map(() => [...resampler.push(sine(0.1, from)), ...resampler.flush()])
    t.strictSame(rounds[0], rounds[1])
    const expected = sine(0.1, to)
    // Away from the edges, where the filter reaches beyond the audio.
    for (let at = 0.02 * to; at < 0.08 * to; at++) {
      const difference = Math.abs((rounds[0]?.[at] ?? 0) - (expected[at] ?? 0))
      if (difference > 400) t.fail(`sample ${at} of ${from} to ${to} is off by ${difference}`)
    }
    resampler.close()
    resampler.close()
  }
})

t.test('streams do not touch each other', async (t) => {
  const alone = inPieces(open, sine(0.2, 24_000), [480], [24_000, 16_000])
  const [one, other] = [open(24_000, 16_000), open(8_000, 48_000)]
  const samples = sine(0.2, 24_000)
  const mixed: number[] = []
  for (let at = 0; at < samples.length; at += 480) {
    mixed.push(...one.push(samples.subarray(at, at + 480)))
    other.push(sine(0.02, 8_000))
  }
  t.strictSame([...mixed, ...one.flush()], [...alone])
})

t.test('the same rate is a copy', async (t) => {
  const samples = sine(0.01, 8_000)
  const resampler = open(8_000, 8_000)
  const output = resampler.push(samples)
  samples.fill(0)
  t.same(output, sine(0.01, 8_000))
  t.equal(resampler.flush().length, 0)
  resampler.close()
})

t.test('a thousand streams leave no memory behind', async (t) => {
  const openAndClose = () => {
    for (let count = 0; count < 1_000; count++) open(24_000, 16_000).close()
  }
  openAndClose()
  const before = process.memoryUsage().arrayBuffers
  openAndClose()
  t.ok(process.memoryUsage().arrayBuffers - before < 1_000_000)
})
