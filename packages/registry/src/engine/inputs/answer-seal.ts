import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import type { InputOutcome } from '@svc/contract'

const ALGORITHM = { alg: 'ECDH-ES', enc: 'A256GCM' } as const

/**
 * The key pair of one process. Only the process that has a run knows the caller's keys, so only it can redact them from an answer: other
 * processes encrypt what they store of one. Credentials are encrypted too, until the process that has their run takes them.
 */
export class AnswerSeal {
  #pair: { publicKey: string; privateKey: KeyObject } | undefined

  /** The key to which other processes encrypt: a JWK as JSON. */
  get publicKey(): string {
    return this.#keys.publicKey
  }

  /** The answer as it was given; undefined if it was sealed for another process or input. */
  async open(inputId: string, { sealed = '' }: InputOutcome): Promise<InputOutcome | undefined> {
    const { compactDecrypt } = await import('jose')
    try {
      const { plaintext, protectedHeader } = await compactDecrypt(sealed, this.#keys.privateKey)
      if (protectedHeader.kid !== inputId) return undefined
      return JSON.parse(new TextDecoder().decode(plaintext)) as InputOutcome
    } catch {
      return undefined
    }
  }

  get #keys() {
    if (this.#pair === undefined) {
      const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
      this.#pair = { publicKey: JSON.stringify(publicKey.export({ format: 'jwk' })), privateKey }
    }
    return this.#pair
  }
}

/** Encrypts all of an answer but its action, if there is more. @param publicKey as in `AnswerSeal` */
export async function sealAnswer(
  inputId: string,
  answer: InputOutcome,
  publicKey: string
): Promise<InputOutcome> {
  const { action, content, reason, secret } = answer
  if (content === undefined && reason === undefined) return answer
  // Loaded lazily: few services need it.
  const { CompactEncrypt } = await import('jose')
  const sealed = await new CompactEncrypt(Buffer.from(JSON.stringify(answer)))
    .setProtectedHeader({ ...ALGORITHM, kid: inputId })
    .encrypt(JSON.parse(publicKey))
  return { action, sealed, ...(secret && { secret }) }
}
