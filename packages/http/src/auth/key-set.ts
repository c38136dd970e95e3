import { toLoggable } from '@svc/contract'
import type { FastifyBaseLogger } from 'fastify'
import { HTTP_ERR_KEYS_UNAVAILABLE } from '../errors.ts'
import { fetchKeySet, type KeySet } from './fetch-key-set.ts'
import type { JwtAlgorithm } from './jwt-algorithms.ts'
import type { JwtKeyFunction } from './jwt-key.ts'

export interface KeySetSettings {
  /** Milliseconds after which known keys are refreshed in the background. */
  fresh: number
  /** Milliseconds beyond `fresh` that known keys still serve while fetches fail. */
  maxStale: number
  /** Milliseconds for one fetch. */
  timeout: number
  /** Fetches in a row; then one per `interval` milliseconds. */
  burst: number
  interval: number
  /** Logs the first failed fetch, and the recovery. */
  log?: Pick<FastifyBaseLogger, 'info' | 'warn'> | undefined
}

const DEFAULTS: KeySetSettings = {
  fresh: 60_000,
  maxStale: 600_000,
  timeout: 5_000,
  burst: 5,
  interval: 5_000
}

/**
 * Creates a key function over a JSON Web Key Set, fetched with the first token. A known key serves at once; a stale one
 * also starts a refresh in the background. Only an unknown `kid` waits for a fetch, since keys rotate. Concurrent callers
 * share one fetch, and `burst` bounds the fetches that a flood of unknown `kid`s can cause. The function throws
 * HTTP_ERR_KEYS_UNAVAILABLE if the key is unknown and the last fetch failed.
 */
export function createKeySet(
  url: string,
  algorithm: JwtAlgorithm,
  settings: Partial<KeySetSettings> = {}
): JwtKeyFunction {
  const { fresh, maxStale, timeout, burst, interval, log } = { ...DEFAULTS, ...settings }
  const mayFetch = createAllowance(burst, interval)
  let keys: KeySet = new Map()
  let loadedAt = -Infinity
  let loading: Promise<void> | undefined
  let failure: unknown

  return async ({ header: { alg, kid } }) => {
    if (alg !== algorithm) throw new Error('the token is of another algorithm')
    if (kid !== undefined && typeof kid !== 'string') throw new Error('kid is no string')
    const age = performance.now() - loadedAt
    const known = age < fresh + maxStale ? find(keys, kid) : undefined
    if (age >= fresh || known === undefined) startFetch()
    if (known !== undefined) return known
    await loading
    if (failure !== undefined) throw new HTTP_ERR_KEYS_UNAVAILABLE({ cause: failure })
    const key = find(keys, kid)
    if (key === undefined) throw new Error('no such key in the set')
    return key
  }

  function startFetch(): void {
    if (loading === undefined && mayFetch()) loading = load().finally(() => (loading = undefined))
  }

  /** Never rejects; `failure` keeps the error of the last fetch. */
  async function load(): Promise<void> {
    try {
      keys = await fetchKeySet(url, algorithm, timeout)
      loadedAt = performance.now()
      if (failure !== undefined) log?.info('the key set can be fetched again')
      failure = undefined
    } catch (err) {
      if (failure === undefined)
        log?.warn({ err: toLoggable(err) }, 'the key set cannot be fetched; known keys serve for now')
      failure = err
    }
  }
}

/** A token bucket: allows `burst` calls in a row, then one per `interval` milliseconds. */
function createAllowance(burst: number, interval: number): () => boolean {
  let left = burst
  let countedAt = performance.now()
  return () => {
    const now = performance.now()
    left = Math.min(burst, left + (now - countedAt) / interval)
    countedAt = now
    if (left < 1) return false
    left -= 1
    return true
  }
}

/** A token without a `kid` matches a set with a single key. */
function find(keys: KeySet, kid: string | undefined): string | undefined {
  if (kid === undefined && keys.size === 1) return keys.values().next().value
  return keys.get(kid)
}
