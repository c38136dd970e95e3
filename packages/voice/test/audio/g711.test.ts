import * as fc from 'fast-check'
import t from 'tap'
import { decodeG711, encodeG711, type Law } from '../../src/audio/codec.ts'

const ALL_CODES = Uint8Array.from({ length: 256 }, (_, code) => code)
const ALL_SAMPLES = Int16Array.from({ length: 65_536 }, (_, index) => index - 32_768)

// ITU-T G.191, ulaw_compress and alaw_compress of the Software Tool Library, on samples of 16 bits.
function referenceMu(sample: number): number {
  const magnitude = Math.min((sample < 0 ? ~sample >> 2 : sample >> 2) + 33, 0x1fff)
  let segment = 1
  for (let rest = magnitude >> 6; rest !== 0; rest >>= 1) segment++
  const code = ((8 - segment) << 4) | (15 - ((magnitude >> segment) & 15))
  return sample < 0 ? code : code | 0x80
}
function referenceA(sample: number): number {
  let magnitude = sample < 0 ? ~sample >> 4 : sample >> 4
  if (magnitude > 15) {
    let exponent = 1
    for (; magnitude > 31; magnitude >>= 1) exponent++
    magnitude = magnitude - 16 + (exponent << 4)
  }
  return (sample < 0 ? magnitude : magnitude | 0x80) ^ 0x55
}

t.test('every sample is encoded as by the reference of the ITU', async (t) => {
  t.same(encodeG711(ALL_SAMPLES, 'mu'), Uint8Array.from(ALL_SAMPLES, referenceMu))
  t.same(encodeG711(ALL_SAMPLES, 'a'), Uint8Array.from(ALL_SAMPLES, referenceA))
})

t.test('the levels of the standard', async (t) => {
  const levels = (law: Law, codes: number[]) => [...decodeG711(Uint8Array.from(codes), law)]
  t.strictSame(
    levels('mu', [0x80, 0x00, 0x8f, 0x9f, 0xef, 0xfe, 0x7e]),
    [32_124, -32_124, 16_764, 8_316, 132, 8, -8]
  )
  t.strictSame(levels('mu', [0xff, 0x7f]), [0, 0])
  t.strictSame(levels('a', [0xd5, 0x55, 0xaa, 0x2a, 0x80]), [8, -8, 32_256, -32_256, 5_504])
})

for (const law of ['mu', 'a'] as const) {
  t.test(`${law}: what is decoded is encoded as it was`, async (t) => {
    const again = encodeG711(decodeG711(ALL_CODES, law), law)
    // Mu-law has two zeros.
    t.same(
      again,
      ALL_CODES.map((code) => (law === 'mu' && code === 0x7f ? 0xff : code))
    )
  })

  t.test(`${law}: the error is at most half a step of the segment`, async () => {
    fc.assert(
      fc.property(fc.integer({ min: -32_124, max: 32_124 }), (sample) => {
        const [decoded = NaN] = decodeG711(encodeG711(Int16Array.of(sample), law), law)
        return Math.abs(decoded - sample) <= Math.max(8, Math.abs(sample) / 16)
      })
    )
  })
}
