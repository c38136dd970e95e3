import t from 'tap'
import { decodeAudio, encodeAudio } from '../../src/audio/codec.ts'

const PCM = { type: 'audio/pcm' } as const
const samples = Int16Array.of(1, -2, 300, -32_768)
const bytes = Buffer.from(encodeAudio(samples, PCM))

t.test('samples are read wherever they begin in memory', async (t) => {
  for (const offset of [0, 1, 2, 3]) {
    const memory = Buffer.concat([Buffer.alloc(offset, 7), bytes, Buffer.alloc(5, 7)])
    const view = memory.subarray(offset, offset + bytes.length)
    t.same(decodeAudio(view, PCM), samples, `a Buffer at ${offset}`)
    const { buffer, byteOffset, byteLength } = view
    t.same(decodeAudio(new Uint8Array(buffer, byteOffset, byteLength), PCM), samples, `bytes at ${offset}`)
  }
})

t.test('half a sample at the end is dropped', async (t) => {
  for (const offset of [0, 1]) {
    const memory = Buffer.concat([Buffer.alloc(offset), bytes, Buffer.alloc(1, 7)])
    t.same(decodeAudio(memory.subarray(offset), PCM), samples)
  }
})
