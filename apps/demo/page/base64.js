// Arguments of one call; a message has 1,920 bytes.
const SLICE = 8_192

/**
 * Encodes samples as base64 of little-endian PCM.
 * @param {Int16Array} samples
 */
export function encodePcm(samples) {
  const bytes = new Uint8Array(samples.buffer, samples.byteOffset, samples.byteLength)
  let text = ''
  for (let at = 0; at < bytes.length; at += SLICE)
    text += String.fromCharCode(...bytes.subarray(at, at + SLICE))
  return btoa(text)
}

/**
 * Decodes base64 of little-endian PCM.
 * @param {string} base64
 * @returns {Int16Array<ArrayBuffer>}
 */
export function decodePcm(base64) {
  const text = atob(base64)
  const bytes = new Uint8Array(text.length & ~1)
  for (let index = 0; index < bytes.length; index++) bytes[index] = text.charCodeAt(index)
  return new Int16Array(bytes.buffer)
}
