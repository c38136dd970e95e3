import { createPublicKey, type JsonWebKey } from 'node:crypto'
import { HTTP_ERR_KEYS_UNAVAILABLE } from '../errors.ts'
import type { JwtAlgorithm, JwtKeyFunction } from './jwt-options.ts'
import { fits, toPem } from './require-key.ts'

/** Milliseconds, and a count. */
export interface KeySetTiming {
  /** After this the keys are fetched anew when one is needed. */
  fresh: number
  /** How long the last keys serve while they cannot be fetched. */
  usable: number
  /** Of one fetch. */
  timeout: number
  /** Fetches that may follow each other at once; after them, one in `interval`. */
  burst: number
  interval: number
}

const TIMING: KeySetTiming = { fresh: 60_000, usable: 600_000, timeout: 5_000, burst: 5, interval: 1_000 }

type Keys = ReadonlyMap<string | undefined, string>

/**
 * Finds the keys of tokens in a JSON Web Key Set (RFC 7517) that is fetched when it is needed: at first, when it is a
 * minute old, and for a `kid` it does not have, as keys rotate. One fetch serves all who wait; a flood of unknown
 * `kid`s makes no flood of fetches. The function throws HTTP_ERR_KEYS_UNAVAILABLE when the set cannot be had.
 */
export function createKeySet(
  url: string,
  algorithm: JwtAlgorithm,
  timing: Partial<KeySetTiming> = {}
): JwtKeyFunction {
  const { fresh, usable, timeout, burst, interval } = { ...TIMING, ...timing }
  let keys: Keys = new Map()
  let loadedAt = -Infinity
  let loading: Promise<void> | undefined
  let failure: unknown
  let allowance = burst
  let countedAt = performance.now()

  return async ({ header: { alg, kid } }) => {
    if (alg !== algorithm) throw new Error('the token is of another algorithm')
    if (kid !== undefined && typeof kid !== 'string') throw new Error('kid is no string')
    const age = performance.now() - loadedAt
    const known = age < usable ? find(keys, kid) : undefined
    if (known !== undefined && age < fresh) return known
    try {
      await load()
    } catch (err) {
      if (known !== undefined) return known
      throw err
    }
    const key = find(keys, kid)
    if (key === undefined) throw new Error('no such key in the set')
    return key
  }

  /** Fetches the set, unless that was done too often. */
  async function load(): Promise<void> {
    if (loading === undefined && mayFetch()) loading = fetchSet().finally(() => (loading = undefined))
    if (loading !== undefined) return loading
    if (failure !== undefined) throw new HTTP_ERR_KEYS_UNAVAILABLE({ cause: failure })
  }

  function mayFetch(): boolean {
    const now = performance.now()
    allowance = Math.min(burst, allowance + (now - countedAt) / interval)
    countedAt = now
    if (allowance < 1) return false
    allowance -= 1
    return true
  }

  async function fetchSet(): Promise<void> {
    try {
      const response = await fetch(url, { redirect: 'error', signal: AbortSignal.timeout(timeout) })
      if (!response.ok) throw new Error(`the key set's server answered ${response.status}`)
      keys = toKeys(await response.json(), algorithm)
      loadedAt = performance.now()
      failure = undefined
    } catch (err) {
      failure = err
      throw new HTTP_ERR_KEYS_UNAVAILABLE({ cause: err })
    }
  }
}

/** A token without a `kid` is of the only key. */
function find(keys: Keys, kid: string | undefined): string | undefined {
  if (kid === undefined && keys.size === 1) return keys.values().next().value
  return keys.get(kid)
}

/** The keys that verify this algorithm; all others are left out. */
function toKeys(set: unknown, algorithm: JwtAlgorithm): Keys {
  const list = (set as { keys?: unknown } | null)?.keys
  if (!Array.isArray(list)) throw new Error('the answer is no JSON Web Key Set')
  const keys = new Map<string | undefined, string>()
  for (const jwk of list) {
    const pem = toVerifier(jwk, algorithm)
    if (pem !== undefined && !keys.has(jwk.kid)) keys.set(jwk.kid, pem)
  }
  return keys
}

function toVerifier(jwk: unknown, algorithm: JwtAlgorithm): string | undefined {
  try {
    const { use = 'sig', alg = algorithm, ...key } = jwk as JsonWebKey
    if (use !== 'sig' || alg !== algorithm) return undefined
    const parsed = createPublicKey({ key, format: 'jwk' })
    return fits(parsed, algorithm) ? toPem(parsed) : undefined
  } catch {
    return undefined
  }
}
