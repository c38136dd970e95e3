import { createPublicKey, type KeyObject } from 'node:crypto'
import { HTTP_ERR_BAD_OPTION } from '../errors.ts'
import { fits, type JwtAlgorithm } from './jwt-algorithms.ts'

/** A decoded token, its signature not verified yet. */
export interface UnverifiedToken {
  header: Readonly<Record<string, unknown>>
  payload: Readonly<Record<string, unknown>>
}

/**
 * Returns the secret, or the public key in PEM, for a token. If it throws, the token is invalid (401), or with a
 * `statusCode` of 500 or more the reply is 503. The result is cached per token for up to a minute.
 */
export type JwtKeyFunction = (token: UnverifiedToken) => string | Buffer | Promise<string | Buffer>

/** Checks that a key fits the algorithm and returns public keys as PEM. @throws HTTP_ERR_BAD_OPTION */
export function requireKey(secret: string | Buffer, algorithm: JwtAlgorithm): string | Buffer {
  if (secret.length === 0) throw fault('it is empty')
  if (algorithm.startsWith('HS')) {
    // Key confusion: anyone could sign with a public key that serves as HMAC secret.
    if (isPublicMaterial(secret))
      throw fault(`a PEM, DER or JSON key does not go with ${algorithm}; set jwt.algorithm`)
    return secret
  }
  const text = secret.toString()
  if (!text.includes('-----BEGIN ')) throw fault(`${algorithm} needs a public key in PEM`)
  if (text.includes('PRIVATE KEY-----')) throw fault('give the public key, not the private one')
  const key = parse({ key: text, format: 'pem' })
  if (key === undefined) throw fault('the PEM has no readable public key')
  if (!fits(key, algorithm)) throw fault(`the key in the PEM is not for ${algorithm}`)
  return toPem(key)
}

function fault(reason: string): Error {
  return new HTTP_ERR_BAD_OPTION(`jwt/secret: ${reason}`)
}

/** Exports a public key as SPKI in PEM. */
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
