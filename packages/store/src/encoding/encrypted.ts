import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'

const CIPHER = 'aes-256-gcm'
const NONCE_BYTES = 12
const TAG_BYTES = 16

/** Encrypts a text: nonce, tag, ciphertext. It can be decrypted only for the same `purpose`, so that rows cannot be exchanged. */
export function encrypt(text: string, key: Uint8Array, purpose: string): Buffer {
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv(CIPHER, key, nonce).setAAD(Buffer.from(purpose))
  const encrypted = Buffer.concat([cipher.update(text), cipher.final()])
  return Buffer.concat([nonce, cipher.getAuthTag(), encrypted])
}

/** Decrypts what `encrypt` returned; undefined if it is damaged, or was encrypted with another key or for another purpose. */
export function decrypt(bytes: Uint8Array, key: Uint8Array, purpose: string): string | undefined {
  const tagEnd = NONCE_BYTES + TAG_BYTES
  if (bytes.length < tagEnd) return undefined
  const decipher = createDecipheriv(CIPHER, key, bytes.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES })
    .setAAD(Buffer.from(purpose))
    .setAuthTag(bytes.subarray(NONCE_BYTES, tagEnd))
  try {
    return Buffer.concat([decipher.update(bytes.subarray(tagEnd)), decipher.final()]).toString()
  } catch {
    return undefined
  }
}
