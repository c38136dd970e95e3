import { createPublicKey, KeyObject, type JsonWebKeyInput, type webcrypto } from 'node:crypto'
import type { Awaitable } from '@svc/contract'
import { createKeySet, findKeys } from '@svc/surface'
import type { createLocalJWKSet, JWK } from 'jose'
import { A2A_ERR_REMOTE } from '../errors.ts'

/** The protected header of a signature: RFC 7515, section 4. */
export interface CardSignatureHeader {
  readonly alg: string
  readonly kid?: string
  readonly jku?: string
  readonly [name: string]: unknown
}

/** A JSON Web Key: as Node exports it, or with names of a key set, such as `kid`. */
export type CardJwk = JsonWebKeyInput['key'] | JWK

/** A public key, as a JWK, a `CryptoKey`, a `KeyObject` or PEM. */
export type CardKey = CardJwk | webcrypto.CryptoKey | KeyObject | string

/** Public keys: a list, the URL of a key set, or a function of a signature's protected header. */
export type CardKeys =
  | readonly CardJwk[]
  | string
  | ((header: CardSignatureHeader) => Awaitable<CardKey | undefined>)

/** The keys that a signature may have been made with. */
export type FindKeys = (header: CardSignatureHeader) => Promise<readonly (webcrypto.CryptoKey | KeyObject)[]>

/** Finds keys in what an app trusts; `jku` are the URLs that signatures may name. */
export function createFindKeys(keys: CardKeys | undefined, jku: readonly string[]): FindKeys {
  const own = keys === undefined ? undefined : toFindKeys(keys)
  const named = new Map(jku.map((url) => [url, remoteKeys(url)]))
  return async (header) => {
    // Any other URL is never fetched: a signature could name its own keys.
    const theirs = header.jku === undefined ? undefined : named.get(header.jku)
    const found = (await own?.(header)) ?? []
    return found.length > 0 || theirs === undefined ? found : theirs(header)
  }
}

function toFindKeys(keys: CardKeys): FindKeys {
  if (typeof keys === 'string') return remoteKeys(keys)
  if (typeof keys === 'function')
    return async (header) => {
      const key = await keys(header)
      return key === undefined ? [] : [toPublicKey(key)]
    }
  let set: ReturnType<typeof createLocalJWKSet> | undefined
  return async (header) => {
    set ??= (await import('jose')).createLocalJWKSet({ keys: keys as JWK[] })
    return findKeys(set, header)
  }
}

function remoteKeys(url: string): FindKeys {
  const find = createKeySet(url)
  return async (header) => {
    try {
      return await find(header)
    } catch (err) {
      throw new A2A_ERR_REMOTE('the keys of its card cannot be fetched', { cause: err })
    }
  }
}

function toPublicKey(given: CardKey): webcrypto.CryptoKey | KeyObject {
  if (given instanceof KeyObject || given instanceof CryptoKey) return given
  return createPublicKey(typeof given === 'string' ? given : { key: given, format: 'jwk' })
}
