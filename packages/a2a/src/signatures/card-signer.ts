import { createPrivateKey, createPublicKey, hash, KeyObject, sign, verify, type webcrypto } from 'node:crypto'
import { setNewest, type Awaitable } from '@svc/contract'
import canonicalize from 'canonicalize'
import { A2A_ERR_BAD_OPTION } from '../errors.ts'
import type { AgentCardSignature } from '../model/agent-card.ts'
import type { Fields } from '../wire/read-answer.ts'
import { formsToSign } from '../wire/signed-forms.ts'
import type { CardJwk } from './verification-keys.ts'

/** The algorithms of card signatures: RFC 7518, section 3.1, and RFC 8037. None has a shared secret. */
export const SIGNATURE_ALGORITHMS = [
  ...(['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'] as const),
  ...(['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'] as const)
] as const
export type SignatureAlgorithm = (typeof SIGNATURE_ALGORITHMS)[number]

const CURVES: Readonly<Record<string, SignatureAlgorithm>> = {
  prime256v1: 'ES256',
  secp384r1: 'ES384',
  secp521r1: 'ES512'
}
/** Bits of an RSA key: RFC 7518, section 3.3. */
const MIN_RSA = 2048

/** The algorithms that a key can be used with, the default first. */
function algorithmsOf({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject): SignatureAlgorithm[] {
  if (asymmetricKeyType === 'ed25519') return ['EdDSA', 'Ed25519']
  const curve = CURVES[asymmetricKeyDetails?.namedCurve ?? '']
  if (asymmetricKeyType === 'ec') return curve === undefined ? [] : [curve]
  if (asymmetricKeyType !== 'rsa' || (asymmetricKeyDetails?.modulusLength ?? 0) < MIN_RSA) return []
  return SIGNATURE_ALGORITHMS.filter((each) => /^[RP]S/.test(each))
}

/** A private key that signs cards. */
export interface CardSigningKey {
  /** As a JWK, a `CryptoKey`, a `KeyObject` or PEM. */
  key: CardJwk | webcrypto.CryptoKey | KeyObject | string
  /** Names the key in the signature; default: the `kid` of the JWK. */
  kid?: string
  /** Default: by the key, for RSA `RS256`. */
  alg?: SignatureAlgorithm
  /** The HTTPS URL of a key set with the public key. */
  jku?: string
}

/**
 * Signs a payload, the canonical JSON of the card, e.g. in a key management service: RFC 7515, section 5.1. The card is its object.
 */
export type SignCardFunction = (
  payload: Uint8Array,
  card: Readonly<Record<string, unknown>>
) => Awaitable<AgentCardSignature | readonly AgentCardSignature[]>

/** How cards are signed: with a key, with each of several keys, or by a function. */
export type SignCard = CardSigningKey | readonly CardSigningKey[] | SignCardFunction

/** Signs the JSON of cards. */
export interface CardSigner {
  /** The signatures of a card, made once per JSON. */
  sign(json: string): Promise<readonly AgentCardSignature[]>
}

/** Cards whose signatures are kept: one per agent and version, and one per extended card. */
const MAX_CARDS = 256
const BASE64URL = /^[\w-]+$/

/** @throws A2A_ERR_BAD_OPTION */
export function createCardSigner(given: SignCard): CardSigner {
  const signPayload = typeof given === 'function' ? given : signWith([given].flat().map(readKey))
  const known = new Map<string, Promise<readonly AgentCardSignature[]>>()
  return {
    sign(json) {
      const id = hash('sha256', json, 'base64url')
      const found = known.get(id) ?? signAll(JSON.parse(json) as Fields, signPayload)
      setNewest(known, id, found, MAX_CARDS)
      // The next request tries again.
      found.catch(() => known.delete(id))
      return found
    }
  }
}

async function signAll(card: Fields, signPayload: SignCardFunction): Promise<readonly AgentCardSignature[]> {
  const payloads = new Map(formsToSign(card).map((form) => [canonicalize(form)!, form]))
  const signed: AgentCardSignature[] = []
  for (const [payload, form] of payloads) {
    const made: unknown[] = [await signPayload(Buffer.from(payload), form)].flat()
    signed.push(...(made.length === 0 ? [undefined] : made).map(requireSignature))
  }
  return signed
}

function signWith(keys: readonly ReturnType<typeof readKey>[]): SignCardFunction {
  return (payload) =>
    Promise.all(
      keys.map(async ({ key, header }) => {
        const { FlattenedSign } = await import('jose')
        const jws = await new FlattenedSign(payload).setProtectedHeader(header).sign(key)
        return { protected: jws.protected!, signature: jws.signature }
      })
    )
}

function requireSignature(given: unknown): AgentCardSignature {
  const { protected: header, signature } = (given ?? {}) as Partial<AgentCardSignature>
  const texts: unknown[] = [header, signature]
  if (!texts.every((each) => typeof each === 'string' && BASE64URL.test(each)))
    throw new TypeError('signCard returned no signature: expected { protected, signature }, as base64url')
  return given as AgentCardSignature
}

function readKey({ key: given, kid = kidOf(given), alg, jku }: CardSigningKey) {
  const key = toPrivateKey(given)
  const algorithms = algorithmsOf(key)
  if (algorithms.length === 0)
    throw new A2A_ERR_BAD_OPTION('signCard/key: must be for ECDSA, Ed25519, or RSA of 2,048 bits or more')
  if (alg !== undefined && !algorithms.includes(alg))
    throw new A2A_ERR_BAD_OPTION(
      `signCard/alg: the key is not for ${alg}; it is for ${algorithms.join(', ')}`
    )
  if (kid === undefined) throw new A2A_ERR_BAD_OPTION('signCard/kid: must be given, the key has none')
  return { key, header: { alg: alg ?? algorithms[0]!, typ: 'JOSE', kid, ...(jku !== undefined && { jku }) } }
}

function kidOf(key: CardSigningKey['key']): string | undefined {
  const { kid } = (typeof key === 'object' ? key : {}) as { kid?: unknown }
  return typeof kid === 'string' ? kid : undefined
}

// Errors of the parser are not repeated: they may quote the key.
function toPrivateKey(given: CardSigningKey['key']): KeyObject {
  const key = parseKey(given)
  if (key?.type !== 'private' || !isWhole(key))
    throw new A2A_ERR_BAD_OPTION(
      'signCard/key: must be a private key: a JWK, a CryptoKey, a KeyObject or PEM'
    )
  return key
}

// The private part of a JWK may be of another key than its public part.
function isWhole(key: KeyObject): boolean {
  const data = Buffer.from('a card')
  const digest = key.asymmetricKeyType?.startsWith('ed') === true ? null : 'sha256'
  try {
    return verify(digest, data, createPublicKey(key), sign(digest, data, key))
  } catch {
    return false
  }
}

function parseKey(given: CardSigningKey['key']): KeyObject | undefined {
  try {
    if (given instanceof KeyObject) return given
    if (given instanceof CryptoKey) return KeyObject.from(given)
    return createPrivateKey(typeof given === 'string' ? given : { key: given, format: 'jwk' })
  } catch {
    return undefined
  }
}
