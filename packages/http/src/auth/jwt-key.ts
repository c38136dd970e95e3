import { createPublicKey, KeyObject, type webcrypto } from 'node:crypto'
import { createKeySet, type KeySetSettings } from '@svc/surface'
import { HTTP_ERR_BAD_OPTION, HTTP_ERR_KEYS_UNAVAILABLE } from '../errors.ts'

/** The accepted algorithms of RFC 7518, section 3.1, and RFC 8037. */
export const JWT_ALGORITHMS = [
  ...(['HS256', 'HS384', 'HS512', 'RS256', 'RS384', 'RS512'] as const),
  ...(['PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA'] as const)
] as const
export type JwtAlgorithm = (typeof JWT_ALGORITHMS)[number]

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

/**
 * Creates a key function over the JSON Web Key Set of a URL. A token without a `kid` goes with a set that has a single key for the algorithm.
 * The function throws HTTP_ERR_KEYS_UNAVAILABLE if the key is unknown and the set cannot be fetched.
 */
export function createRemoteKey(
  url: string,
  algorithm: JwtAlgorithm,
  settings: Omit<KeySetSettings, 'algorithm'>
): JwtKeyFunction {
  const find = createKeySet(url, { ...settings, algorithm })
  const pems = new WeakMap<webcrypto.CryptoKey, string>()

  return async ({ header: { alg, kid } }) => {
    if (alg !== algorithm) throw new Error('the token is of another algorithm')
    if (kid !== undefined && typeof kid !== 'string') throw new Error('kid is no string')
    const [key, ...others] = await find({ alg: algorithm, ...(kid !== undefined && { kid }) }).catch(
      (cause: unknown) => {
        throw new HTTP_ERR_KEYS_UNAVAILABLE({ cause })
      }
    )
    if (key === undefined || (kid === undefined && others.length > 0))
      throw new Error('no such key in the set')
    let pem = pems.get(key)
    if (pem === undefined) pems.set(key, (pem = toPem(KeyObject.from(key))))
    return pem
  }
}

function fault(reason: string): Error {
  return new HTTP_ERR_BAD_OPTION(`jwt/secret: ${reason}`)
}

function toPem(key: KeyObject): string {
  return key.export({ type: 'spki', format: 'pem' }).toString()
}

const CURVES: Readonly<Record<string, string>> = {
  ES256: 'prime256v1',
  ES384: 'secp384r1',
  ES512: 'secp521r1'
}

/** Whether a public key can verify signatures of the algorithm. */
function fits(key: KeyObject, algorithm: JwtAlgorithm): boolean {
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
