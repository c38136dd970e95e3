import type { AudioFormat } from '@svc/contract'
import { decodeG711, encodeG711 } from './g711.ts'

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
