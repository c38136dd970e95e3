import * as fc from 'fast-check'
import t from 'tap'
import { encodeG711 } from '../../src/audio/codec.ts'
import { readWav, writeWav } from '../../src/audio/wav.ts'

interface Chunks {
  code?: number
  channels?: number
  rate?: number
  bits?: number
  data: Uint8Array
  dataSize?: number
  before?: Buffer[]
  subFormat?: number
}

function wavOf({
  code = 1,
  channels = 1,
  rate = 16_000,
  bits = 16,
  data,
  dataSize,
  before = [],
  subFormat
}: Chunks) {
  const format = Buffer.alloc(subFormat === undefined ? 16 : 40)
  format.writeUInt16LE(code, 0)
  format.writeUInt16LE(channels, 2)
  format.writeUInt32LE(rate, 4)
  format.writeUInt16LE(bits, 14)
  if (subFormat !== undefined) format.writeUInt16LE(subFormat, 24)
  const chunks = [...before, chunk('fmt ', format), chunk('data', data, dataSize)]
  return Buffer.concat([Buffer.from('RIFF\0\0\0\0WAVE'), ...chunks])
}

function chunk(tag: string, data: Uint8Array, size = data.length) {
  const head = Buffer.alloc(8)
  head.write(tag, 'latin1')
  head.writeUInt32LE(size, 4)
  return Buffer.concat([head, data, Buffer.alloc(data.length % 2)])
}

const bytesOf = (array: Int16Array | Int32Array | Float32Array | Float64Array) => Buffer.from(array.buffer)

t.test('what is written is read', async () => {
  fc.assert(
    fc.property(fc.int16Array(), fc.integer({ min: 4_000, max: 192_000 }), (samples, rate) => {
      const wav = writeWav({ samples, rate })
      // At an odd address, as in the middle of a request body.
      const shifted = new Uint8Array(wav.length + 1).subarray(1)
      shifted.set(wav)
      const read = readWav(shifted)
      return read.rate === rate && Buffer.compare(bytesOf(read.samples), bytesOf(samples.slice())) === 0
    })
  )
})

t.test('every common encoding', async (t) => {
  const samples = [...readWav(wavOf({ bits: 8, data: Uint8Array.of(0, 128, 255) })).samples]
  t.strictSame(samples, [-32_768, 0, 32_512])
  const of24 = Uint8Array.of(0xff, 0x34, 0x12, 0, 0, 0x80)
  t.strictSame([...readWav(wavOf({ bits: 24, data: of24 })).samples], [0x1234, -32_768])
  const of32 = bytesOf(Int32Array.of(0x1234_5678, -0x8000_0000))
  t.strictSame([...readWav(wavOf({ bits: 32, data: of32 })).samples], [0x1234, -32_768])
  const floats = [0, 0.5, -0.5, 1, -1, 7, NaN]
  const expected = [0, 16_384, -16_384, 32_767, -32_768, 32_767, 0]
  const single = wavOf({ code: 3, bits: 32, data: bytesOf(Float32Array.from(floats)) })
  t.strictSame([...readWav(single).samples], expected)
  const double = wavOf({ code: 3, bits: 64, data: bytesOf(Float64Array.from(floats)) })
  t.strictSame([...readWav(double).samples], expected)
  const speech = Int16Array.of(8, -8, 5_504)
  const a = wavOf({ code: 6, bits: 8, rate: 8_000, data: encodeG711(speech, 'a') })
  t.same(readWav(a), { samples: speech, rate: 8_000 })
  const mu = wavOf({ code: 7, bits: 8, rate: 8_000, data: encodeG711(Int16Array.of(8, -8, 132), 'mu') })
  t.same(readWav(mu), { samples: Int16Array.of(8, -8, 132), rate: 8_000 })
})

t.test('channels are mixed, other chunks skipped, extensible formats resolved', async (t) => {
  const data = bytesOf(Int16Array.of(100, 300, -200, 0))
  const list = chunk('LIST', Buffer.from('odd'))
  const { samples } = readWav(wavOf({ channels: 2, data, before: [list] }))
  t.strictSame([...samples], [200, -100])
  t.strictSame([...readWav(wavOf({ code: 0xfffe, subFormat: 1, data })).samples], [100, 300, -200, 0])
})

t.test('an unfinished header: the audio ends with the bytes', async (t) => {
  const data = bytesOf(Int16Array.of(1, 2, 3))
  for (const dataSize of [0xffff_ffff, 0x7fff_ffff, 100]) {
    t.strictSame([...readWav(wavOf({ data, dataSize })).samples], [1, 2, 3])
  }
  t.strictSame([...readWav(wavOf({ data, dataSize: 6 }).subarray(0, -1)).samples], [1, 2])
})

t.test('what cannot be read is refused', async (t) => {
  const data = bytesOf(Int16Array.of(1))
  const refuses = (bytes: Uint8Array, message: RegExp) =>
    t.throws(() => readWav(bytes), { code: 'VOICE_ERR_BAD_AUDIO', statusCode: 422, message })
  refuses(Buffer.from('ID3 is no WAV file'), /no WAV file/)
  refuses(new Uint8Array(0), /no WAV file/)
  refuses(wavOf({ data }).subarray(0, 40), /has no data/)
  refuses(wavOf({ data }).subarray(0, 24), /format of the WAV file is too short/)
  refuses(Buffer.concat([Buffer.from('RIFF\0\0\0\0WAVE'), chunk('data', data)]), /no format before its data/)
  refuses(wavOf({ code: 2, bits: 4, data }), /format 2 with 4 bits/)
  refuses(wavOf({ channels: 0, data }), /0 channels/)
  refuses(wavOf({ rate: 0, data }), /at 0 Hz/)
})

t.test('no bytes break the reader', async () => {
  const start = wavOf({ data: bytesOf(Int16Array.of(1, 2)) })
  fc.assert(
    fc.property(fc.nat(start.length), fc.uint8Array({ maxLength: 64 }), (at, noise) => {
      try {
        readWav(Buffer.concat([start.subarray(0, at), noise]))
      } catch (err) {
        return (err as { code?: string }).code === 'VOICE_ERR_BAD_AUDIO'
      }
      return true
    })
  )
})
