import { createPublicKey, type KeyObject } from 'node:crypto'
import { HTTP_ERR_BAD_OPTION } from '../errors.ts'
import type { JwtAlgorithm } from './jwt-options.ts'

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

const CURVES: Readonly<Record<string, string>> = {
  ES256: 'prime256v1',
  ES384: 'secp384r1',
  ES512: 'secp521r1'
}

/** Whether a public key is for an algorithm. */
export function fits(key: KeyObject, algorithm: JwtAlgorithm): boolean {
  const { asymmetricKeyType: type, asymmetricKeyDetails: details } = key
  if (algorithm === 'EdDSA') return type === 'ed25519' || type === 'ed448'
  if (algorithm.startsWith('ES')) return type === 'ec' && details?.namedCurve === CURVES[algorithm]
  return type === 'rsa'
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
