import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import type { JWK } from 'jose'

/** A private key that signs cards, and its public part as a JWK. */
export interface CardKeyPair {
  readonly kid: string
  readonly privateKey: KeyObject
  readonly publicKey: KeyObject
  readonly jwk: JWK
}

function toPair(
  kid: string,
  { privateKey, publicKey }: { privateKey: KeyObject; publicKey: KeyObject }
): CardKeyPair {
  return { kid, privateKey, publicKey, jwk: { ...publicKey.export({ format: 'jwk' }), kid } as JWK }
}

/** A new key on a curve of ECDSA. */
export function createEcKey(kid = 'key-1', namedCurve = 'P-256'): CardKeyPair {
  return toPair(kid, generateKeyPairSync('ec', { namedCurve }))
}

/** A new key of RSA. */
export function createRsaKey(kid = 'rsa-1', modulusLength = 2048): CardKeyPair {
  return toPair(kid, generateKeyPairSync('rsa', { modulusLength }))
}

/** A new key of Ed25519. */
export function createEdKey(kid = 'ed-1'): CardKeyPair {
  return toPair(kid, generateKeyPairSync('ed25519'))
}
