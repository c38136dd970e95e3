import { decodeTones, encodeTones, ToneDecoder, ToneEncoder } from '../../src/testing/tone-codec.ts'
import * as fc from 'fast-check'
import t from 'tap'
import { decodeG711, encodeG711, joinSamples } from '../../src/audio/codec.ts'
import { loadResampler } from '../../src/audio/resample.ts'

const RATES = [8_000, 16_000, 22_050, 24_000, 44_100, 48_000]
const TEXT = 'Grüße aus Köln: 100 % „sicher", 東京 🎉 zzz'
const openResampler = await loadResampler()

const joined = (...pieces: Int16Array[]) => joinSamples(pieces)

function resample(samples: Int16Array, from: number, to: number) {
  const resampler = openResampler(from, to)
  const output = joined(resampler.push(samples), resampler.flush())
  resampler.close()
  return output
}

t.test('text → audio → text, over every pair of rates and G.711', async (t) => {
  for (const from of RATES) {
    for (const to of RATES) t.equal(decodeTones(resample(encodeTones(TEXT, from), from, to), to), TEXT)
    for (const law of ['mu', 'a'] as const) {
      const phone = decodeG711(encodeG711(resample(encodeTones(TEXT, from), from, 8_000), law), law)
      t.equal(decodeTones(resample(phone, 8_000, 16_000), 16_000), TEXT)
    }
  }
})

t.test('any text, in any pieces of text and of audio', async () => {
  fc.assert(
    fc.property(
      fc.array(fc.string({ unit: 'grapheme', maxLength: 12 })),
      fc.integer({ min: 1, max: 999 }),
      (pieces, length) => {
        const [encoder, decoder] = [new ToneEncoder(16_000), new ToneDecoder(16_000)]
        for (const piece of pieces) {
          const samples = encoder.encode(piece)
          for (let at = 0; at < samples.length; at += length) decoder.push(samples.subarray(at, at + length))
        }
        return decoder.text === pieces.join('')
      }
    ),
    { numRuns: 50 }
  )
})

t.test('of a part of the audio, the text up to there', async (t) => {
  const audio = encodeTones(TEXT, 24_000)
  const perByte = audio.length / Buffer.byteLength(TEXT)
  for (let at = 0; at < audio.length; at += 113) {
    const text = decodeTones(audio.subarray(0, at), 24_000)
    if (!TEXT.startsWith(text)) t.fail(`"${text}" is not how the text begins`)
    // A character of four bytes at most.
    if (Math.abs(Buffer.byteLength(text) - at / perByte) > 4) t.fail(`${at} samples are not "${text}"`)
  }
})

t.test('what was lost leaves a mark', async (t) => {
  const audio = encodeTones('what is the weather', 16_000)
  const byte = 480
  t.equal(decodeTones(audio.subarray(byte), 16_000), '\ufffdhat is the weather')
  const hole = joined(audio.subarray(0, byte * 4), audio.subarray(byte * 7))
  t.equal(decodeTones(hole, 16_000), 'what\ufffd the weather')
  const doubled = joined(audio.subarray(0, byte * 4), audio.subarray(byte * 2))
  t.equal(decodeTones(doubled, 16_000), 'what\ufffdat is the weather')
})

t.test('a pause inside is nothing, a second utterance is a word of its own', async (t) => {
  const audio = encodeTones('good morning', 16_000)
  const paused = Int16Array.from([
    ...audio.subarray(0, 480 * 6),
    ...new Int16Array(9_000),
    ...audio.subarray(480 * 6)
  ])
  t.equal(decodeTones(paused, 16_000), 'good morning')
  t.equal(decodeTones(joined(audio, audio), 16_000), 'good morning good morning')
})

t.test('noise and silence say nothing', async (t) => {
  const noise = Int16Array.from({ length: 16_000 }, () => (Math.random() - 0.5) * 20_000)
  t.equal(decodeTones(noise, 16_000), '')
  t.equal(decodeTones(new Int16Array(16_000), 16_000), '')
  const bursts = noise.map((sample, at) => (at % 480 < 320 ? sample : 0))
  t.equal(decodeTones(bursts, 16_000), '')
})
