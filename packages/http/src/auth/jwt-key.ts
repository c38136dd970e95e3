import { createPublicKey, type KeyObject } from 'node:crypto'
import { HTTP_ERR_BAD_OPTION } from '../errors.ts'
import { fits, type JwtAlgorithm } from './jwt-algorithms.ts'

/** A token whose signature has not been verified yet. */
export interface UnverifiedToken {
  header: Readonly<Record<string, unknown>>
  payload: Readonly<Record<string, unknown>>
}

/**
 * Gives the secret or the public key, in PEM, of a token. Throws when there is none: with a `statusCode` of 500 and
 * more the answer is 503, else the token is bad. What it gives is used for the same token for up to a minute.
 */
export type JwtKeyFunction = (token: UnverifiedToken) => string | Buffer | Promise<string | Buffer>

/** Makes sure that a key goes with the algorithm; a public key comes back in PEM. @throws HTTP_ERR_BAD_OPTION */
export function requireKey(secret: string | Buffer, algorithm: JwtAlgorithm): string | Buffer {
  if (secret.length === 0) throw fault('it is empty')
  if (algorithm.startsWith('HS')) {
    // Whoever has the public key, which is everyone, could sign with it.
    if (isPublicMaterial(secret))
      throw fault(`a PEM, DER or JSON key does not go with ${algorithm}; set jwt.algorithm`)
    return secret
  }
  const text = secret.toString()
  if (!text.includes('-----BEGIN ')) throw fault(`${algorithm} needs a public key in PEM`)
  if (text.includes('PRIVATE KEY-----')) throw fault('give the public key, not the private one')
  const key = parse({ key: text, format: 'pem' })
  if (key === undefined) throw fault('the PEM has no public key that can be read')
  if (!fits(key, algorithm)) throw fault(`the key in the PEM is not for ${algorithm}`)
  return toPem(key)
}

function fault(says: string): Error {
  return new HTTP_ERR_BAD_OPTION(`jwt.secret: ${says}`)
}

/** The public key, as SPKI in PEM. */
export function toPem(key: KeyObject): string {
  return key.export({ type: 'spki', format: 'pem' }).toString()
}

function isPublicMaterial(secret: string | Buffer): boolean {
  const text = secret.toString().trim()
  if (text.includes('-----BEGIN ')) return true
  if (text.startsWith('{') || text.startsWith('[')) return /"kty"\s*:\s*"(?:RSA|EC|OKP)"/.test(text)
  const bytes = typeof secret === 'string' ? Buffer.from(text, 'base64') : secret
  return (['spki', 'pkcs1'] as const).some((type) => parse({ key: bytes, format: 'der', type }) !== undefined)
}

function parse(input: Parameters<typeof createPublicKey>[0]): KeyObject | undefined {
  try {
    return createPublicKey(input)
  } catch {
    return undefined
  }
}
