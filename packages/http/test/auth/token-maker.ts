import { createHmac, generateKeyPairSync, sign, type KeyObject } from 'node:crypto'
import type { Credentials } from '@svc/registry'
import { createJwtAuthenticate, type JwtAuthenticateSettings } from '../../src/auth/jwt-authenticate.ts'
import type { JwtAlgorithm } from '../../src/auth/jwt-key.ts'
import type { JwtOptions } from '../../src/auth/jwt-options.ts'

/** Makes tokens with a key of its own, good or bad. */
export interface TokenMaker {
  algorithm: JwtAlgorithm
  /** The secret, or the public key in PEM. */
  secret: string
  publicKey?: KeyObject
  privateKey?: KeyObject
  /** Signs a payload, which may be a string that is no JSON. */
  sign(payload: unknown, header?: object): string
}

export const inOneHour = () => Math.floor(Date.now() / 1000) + 3600

/** Claims of a good token. */
export const claims = (more: object = {}) => ({
  sub: 'ann',
  exp: inOneHour(),
  scopes: ['agents:run'],
  ...more
})

export const encode = (value: unknown) =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url')

/** Joins the three parts of a token. */
export function toToken(header: object, payload: unknown, signOf: (input: string) => Buffer): string {
  const input = `${encode(header)}.${encode(payload)}`
  return `${input}.${signOf(input).toString('base64url')}`
}

export const hmac =
  (key: string | Buffer, digest = 'sha256') =>
  (input: string) =>
    createHmac(digest, key).update(input).digest()

export function createTokenMaker(algorithm: 'HS256' | 'RS256' | 'PS256' | 'ES256' | 'EdDSA'): TokenMaker {
  const signed = (signOf: (input: string) => Buffer) => (payload: unknown, header?: object) =>
    toToken({ alg: algorithm, typ: 'JWT', ...header }, payload, signOf)
  if (algorithm === 'HS256') {
    const secret = `secret of 32 bytes at least ${Math.random()}`
    return { algorithm, secret, sign: signed(hmac(secret)) }
  }
  const { publicKey, privateKey } = createPair(algorithm)
  const key = {
    key: privateKey,
    dsaEncoding: 'ieee-p1363' as const,
    ...(algorithm === 'PS256' && { padding: 6, saltLength: 32 })
  }
  const secret = publicKey.export({ type: 'spki', format: 'pem' }).toString()
  const digest = algorithm === 'EdDSA' ? null : 'sha256'
  return {
    algorithm,
    secret,
    publicKey,
    privateKey,
    sign: signed((input) => sign(digest, Buffer.from(input), key))
  }
}

function createPair(algorithm: 'RS256' | 'PS256' | 'ES256' | 'EdDSA') {
  if (algorithm === 'ES256') return generateKeyPairSync('ec', { namedCurve: 'prime256v1' })
  if (algorithm === 'EdDSA') return generateKeyPairSync('ed25519')
  return generateKeyPairSync('rsa', { modulusLength: 2048 })
}

/** Makes an authenticate, and asks it by token. */
export async function buildAuthenticate(options: JwtOptions, settings?: JwtAuthenticateSettings) {
  const authenticate = await createJwtAuthenticate(options, settings)
  return { authenticate, ask: async (token?: string) => authenticate(toCredentials(token)) }
}

export function toCredentials(token?: string): Credentials {
  return { headers: {}, cookies: {}, ...(token !== undefined && { token }) }
}
