import type { AudioFormat } from '@svc/contract'

/** The companding law of G.711: `audio/pcmu` is `mu`, `audio/pcma` is `a`. */
export type Law = 'mu' | 'a'

const MU_BIAS = 0x84
const MU_CLIP = 32_635

const DECODED = { mu: tableOf(decodeMu), a: tableOf(decodeA) }
// One code for each 16-bit sample.
const ENCODED: Partial<Record<Law, Uint8Array>> = {}

/** Decodes G.711 (ITU-T) to 16-bit samples. */
export function decodeG711(bytes: Uint8Array, law: Law): Int16Array {
  const samples = new Int16Array(bytes.length)
  for (let at = 0; at < bytes.length; at++) samples[at] = decodeCode(bytes[at] ?? 0, law)
  return samples
}

/** Decodes one byte of G.711. */
export function decodeCode(code: number, law: Law): number {
  return DECODED[law][code] ?? 0
}

/** Encodes 16-bit samples in G.711 (ITU-T), one byte each; negative ones as the reference code of G.191 does. */
export function encodeG711(samples: Int16Array, law: Law): Uint8Array {
  const table = (ENCODED[law] ??= codesOf(law === 'mu' ? encodeMu : encodeA))
  const bytes = new Uint8Array(samples.length)
  for (let at = 0; at < samples.length; at++) bytes[at] = table[(samples[at] ?? 0) & 0xffff] ?? 0
  return bytes
}

function decodeMu(code: number): number {
  const inverted = ~code & 0xff
  const magnitude = ((((inverted & 0x0f) << 3) + MU_BIAS) << ((inverted & 0x70) >> 4)) - MU_BIAS
  return inverted & 0x80 ? -magnitude : magnitude
}

function encodeMu(sample: number): number {
  const sign = sample < 0 ? 0x80 : 0
  const magnitude = Math.min(sample < 0 ? ~sample : sample, MU_CLIP) + MU_BIAS
  const exponent = 24 - Math.clz32(magnitude)
  return ~(sign | (exponent << 4) | ((magnitude >> (exponent + 3)) & 0x0f)) & 0xff
}

// A set sign bit is positive; the even bits of the code are inverted.
function decodeA(code: number): number {
  const plain = code ^ 0x55
  const exponent = (plain & 0x70) >> 4
  const mantissa = ((plain & 0x0f) << 4) + 8
  const magnitude = exponent === 0 ? mantissa : (mantissa + 0x100) << (exponent - 1)
  return plain & 0x80 ? magnitude : -magnitude
}

function encodeA(sample: number): number {
  const sign = sample < 0 ? 0 : 0x80
  const magnitude = sample < 0 ? ~sample : sample
  const exponent = Math.max(0, 24 - Math.clz32(magnitude))
  return (sign | (exponent << 4) | ((magnitude >> Math.max(4, exponent + 3)) & 0x0f)) ^ 0x55
}

function tableOf(decode: (code: number) => number): Int16Array {
  return Int16Array.from({ length: 256 }, (_, code) => decode(code))
}

function codesOf(encode: (sample: number) => number): Uint8Array {
  return Uint8Array.from({ length: 65_536 }, (_, bits) => encode((bits << 16) >> 16))
}

/**
 * Decodes raw audio to samples at the format's rate. Half a sample at the end is dropped. The samples may share memory with the
 * bytes.
 */
export function decodeAudio(bytes: Uint8Array, { type }: Pick<AudioFormat, 'type'>): Int16Array {
  if (type === 'audio/pcmu') return decodeG711(bytes, 'mu')
  if (type === 'audio/pcma') return decodeG711(bytes, 'a')
  const { buffer, byteOffset, length } = bytes
  if (byteOffset % 2 === 0) return new Int16Array(buffer, byteOffset, length >> 1)
  // Not `slice`, which gives a view of a Buffer.
  return new Int16Array(new Uint8Array(bytes.subarray(0, length & ~1)).buffer)
}

/** Encodes samples as raw audio. The bytes may share memory with the samples. */
export function encodeAudio(samples: Int16Array, { type }: Pick<AudioFormat, 'type'>): Uint8Array {
  if (type === 'audio/pcmu') return encodeG711(samples, 'mu')
  if (type === 'audio/pcma') return encodeG711(samples, 'a')
  return new Uint8Array(samples.buffer, samples.byteOffset, samples.byteLength)
}

/** Cuts a stream of samples into frames of one length. Each sample is copied once; a frame belongs to its receiver. */
export class FrameCutter {
  readonly #length: number
  readonly #take: (frame: Int16Array) => void
  #frame: Int16Array
  #filled = 0

  /** @param length samples of a frame */
  constructor(length: number, take: (frame: Int16Array) => void) {
    this.#length = length
    this.#take = take
    this.#frame = new Int16Array(length)
  }

  push(samples: Int16Array): void {
    for (let at = 0; at < samples.length;) {
      const part = samples.subarray(at, at + this.#length - this.#filled)
      this.#frame.set(part, this.#filled)
      this.#filled += part.length
      at += part.length
      if (this.#filled === this.#length) this.#release()
    }
  }

  /** Samples of the frame that has begun. */
  get filled(): number {
    return this.#filled
  }

  /** Fills the last frame with silence; nothing if no frame has begun. */
  flush(): void {
    if (this.#filled > 0) this.#release()
  }

  /** Discards the frame that has begun. */
  clear(): void {
    this.#frame.fill(0, 0, this.#filled)
    this.#filled = 0
  }

  #release(): void {
    const frame = this.#frame
    this.#frame = new Int16Array(this.#length)
    this.#filled = 0
    this.#take(frame)
  }
}

/** Joins samples into one array. */
export function joinSamples(pieces: readonly Int16Array[]): Int16Array<ArrayBuffer> {
  const joined = new Int16Array(pieces.reduce((length, piece) => length + piece.length, 0))
  let at = 0
  for (const piece of pieces) {
    joined.set(piece, at)
    at += piece.length
  }
  return joined
}
