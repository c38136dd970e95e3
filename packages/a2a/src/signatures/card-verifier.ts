import canonicalize from 'canonicalize'
import { isExposed, type Awaitable } from '@svc/contract'
import type { flattenedVerify as verify } from 'jose'
import { A2A_ERR_BAD_CARD } from '../errors.ts'
import type { AgentCardSignature } from '../model/agent-card.ts'
import { signedForms } from '../wire/signed-forms.ts'
import type { Fields } from '../wire/read-answer.ts'
import { SIGNATURE_ALGORITHMS, type SignatureAlgorithm } from './card-signer.ts'
import {
  createFindKeys,
  type CardKeys,
  type CardSignatureHeader,
  type FindKeys
} from './verification-keys.ts'

/** The keys that the signature of a card must be made with; `keys` or `jku` is required. */
export interface VerifyCardOptions {
  /** The public keys: a list of JWKs, the URL of a key set, or a function of the protected header of a signature. */
  keys?: CardKeys
  /** URLs of key sets that a signature may name in its `jku`; others are never fetched. */
  jku?: readonly string[]
  /** The accepted algorithms; default: all but those of shared secrets. */
  algorithms?: readonly SignatureAlgorithm[]
  /** Whether a card must have a signature; default `true`. */
  required?: boolean
}

/** Decides about a card, which comes without its signatures, as it was received. */
export type VerifyCardFunction = (
  card: Readonly<Record<string, unknown>>,
  signatures: readonly AgentCardSignature[]
) => Awaitable<boolean>

/** How the signatures of a card are verified: with keys, or by a function. */
export type VerifyCard = VerifyCardOptions | VerifyCardFunction

/** Returns what a card's valid signature covers. @throws A2A_ERR_BAD_CARD, A2A_ERR_REMOTE */
export type CardVerifier = (card: Fields) => Promise<Fields>

/** The error of a card that is not trusted; the same card will not be later. */
function untrusted(why: string): Error {
  return Object.assign(new A2A_ERR_BAD_CARD(why), { retryable: false })
}

/** Signatures of a card, and characters of each. */
const MAX_SIGNATURES = 32
const MAX_LENGTH = 16_384
const BASE64URL = /^[\w-]+$/

/** Creates the check of the cards of one service. */
export function createCardVerifier(verify: VerifyCard): CardVerifier {
  if (typeof verify === 'function') return (card) => decide(card, verify)
  const { keys, jku = [], algorithms = SIGNATURE_ALGORITHMS, required = true } = verify
  const findKeys = createFindKeys(keys, jku)
  return async (card) => {
    const signatures = signaturesOf(card)
    if (signatures.length === 0 && !required) return card
    if (signatures.length === 0) throw untrusted('it is not signed')
    const forms = encodeForms(card)
    for (const signature of signatures) {
      const covered = await findCovered(signature, forms, algorithms, findKeys)
      if (covered !== undefined) return covered
    }
    throw untrusted('no signature is valid for a known key')
  }
}

async function decide(given: Fields, verify: VerifyCardFunction): Promise<Fields> {
  const { signatures: _, ...card } = given
  const isTrusted: unknown = await verify(card, signaturesOf(given))
  if (isTrusted === true) return card
  throw untrusted('verify refused it')
}

function signaturesOf({ signatures = [] }: Fields): AgentCardSignature[] {
  if (signatures === null) return []
  if (!Array.isArray(signatures)) throw untrusted('its signatures are no list')
  if (signatures.length > MAX_SIGNATURES) throw untrusted(`it has more than ${MAX_SIGNATURES} signatures`)
  return signatures as AgentCardSignature[]
}

type Form = readonly [payload: string, covered: Fields]

function encodeForms(card: Fields): Form[] {
  try {
    const forms = new Map(signedForms(card).map((form) => [canonicalize(form)!, form]))
    return [...forms].map(([json, form]) => [Buffer.from(json).toString('base64url'), form])
  } catch {
    // Lone surrogates, or values that are nested too deep.
    throw untrusted('it has no canonical form')
  }
}

async function findCovered(
  signature: unknown,
  forms: readonly Form[],
  algorithms: readonly SignatureAlgorithm[],
  findKeys: FindKeys
): Promise<Fields | undefined> {
  const jws = readSignature(signature)
  const header = jws && (await readHeader(jws.protected, algorithms))
  if (header === undefined) return undefined
  try {
    for (const key of await findKeys(header))
      for (const [payload, covered] of forms)
        if (await isValid({ ...jws!, payload }, key, header.alg)) return covered
  } catch (err) {
    if (isExposed(err)) throw err
    // A key of the wrong type, or no key at all.
  }
  return undefined
}

async function isValid(
  jws: Parameters<typeof verify>[0],
  key: Parameters<typeof verify>[1],
  alg: string
): Promise<boolean> {
  const { flattenedVerify } = await import('jose')
  try {
    await flattenedVerify(jws, key, { algorithms: [alg] })
    return true
  } catch {
    return false
  }
}

// Without its unprotected header, which anyone can change.
function readSignature(given: unknown): { protected: string; signature: string } | undefined {
  const { protected: header, signature } = (given ?? {}) as Partial<AgentCardSignature>
  return isText(header) && isText(signature) ? { protected: header, signature } : undefined
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value.length <= MAX_LENGTH && BASE64URL.test(value)
}

async function readHeader(
  given: string,
  algorithms: readonly SignatureAlgorithm[]
): Promise<CardSignatureHeader | undefined> {
  const { decodeProtectedHeader } = await import('jose')
  try {
    const header = decodeProtectedHeader({ protected: given }) as Record<string, unknown>
    const { alg, kid, jku, crit } = header
    const isKnown = (algorithms as readonly unknown[]).includes(alg)
    // No extension of JWS is known here, so that none can be critical.
    if (!isKnown || crit !== undefined || !isMaybeText(kid) || !isMaybeText(jku)) return undefined
    return header as unknown as CardSignatureHeader
  } catch {
    return undefined
  }
}

function isMaybeText(value: unknown): boolean {
  return value === undefined || typeof value === 'string'
}
