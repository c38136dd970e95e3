/** Encodes samples as base64 of little-endian PCM. */
export function encodePcm({ buffer, byteOffset, byteLength }: Int16Array): string {
  let text = ''
  for (const byte of new Uint8Array(buffer, byteOffset, byteLength)) text += String.fromCharCode(byte)
  return btoa(text)
}

/** Decodes base64 of little-endian PCM. */
export function decodePcm(base64: string): Int16Array {
  const text = atob(base64)
  const bytes = new Uint8Array(text.length & ~1)
  for (let index = 0; index < bytes.length; index++) bytes[index] = text.charCodeAt(index)
  return new Int16Array(bytes.buffer)
}

/** How loud samples are, from 0 at −60 dB to 1. */
export function levelOf(samples: Int16Array): number {
  let sum = 0
  for (const sample of samples) sum += (sample / 32_768) ** 2
  return Math.max(0, 1 + Math.log10(Math.sqrt(sum / samples.length) + 1e-9) / 3)
}
