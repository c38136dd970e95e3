import { createPublicKey } from 'node:crypto'
import { toLoggable } from '@svc/contract'
import type { FastifyBaseLogger } from 'fastify'
import type { CryptoKey, JSONWebKeySet, JWK, JWSHeaderParameters } from 'jose'

/** The names of a protected header that select a key. RFC 7515, section 4.1. */
export type KeyHeader = Readonly<Pick<JWSHeaderParameters, 'alg' | 'kid'>>

/** Finds the keys that a signature with this header may have been made with. */
export type FindKeys = (header: KeyHeader) => Promise<readonly CryptoKey[]>

export interface KeySetSettings {
  /** The only algorithm of the signatures: a set without a key for it counts as a failed fetch; default any. */
  algorithm?: string
  /** Milliseconds after which known keys are refreshed in the background; default 60,000. */
  fresh?: number
  /** Milliseconds beyond `fresh` that known keys still serve while fetches fail; default 600,000. */
  maxStale?: number
  /** Milliseconds for one fetch; default 5,000. */
  timeout?: number
  /** Fetches in a row, then one per `interval` milliseconds; default 5. */
  burst?: number
  /** Default 5,000. */
  interval?: number
  /** Logs the first failed fetch, and the recovery; default no log. */
  log?: Pick<FastifyBaseLogger, 'info' | 'warn'> | undefined
}

/** Bytes of a response, decompressed. */
const MAX_BYTES = 1_048_576
const MAX_KEYS = 100

/**
 * Creates a function that finds keys in the JSON Web Key Set (RFC 7517) of a URL, fetched with the first call. A known key serves at once; a
 * stale one also starts a refresh in the background. Only an unknown `kid` waits for a fetch, since keys rotate. Concurrent callers share
 * one fetch, and `burst` bounds the fetches that a flood of unknown `kid`s can cause. The function throws the fault of the last fetch if the
 * key is unknown and that fetch failed.
 */
export function createKeySet(url: string, settings: KeySetSettings = {}): FindKeys {
  const { algorithm, fresh = 60_000, maxStale = 600_000, timeout = 5_000 } = settings
  const { burst = 5, interval = 5_000, log } = settings
  const mayFetch = createAllowance(burst, interval)
  let set = findNone
  let loadedAt = -Infinity
  let loading: Promise<void> | undefined
  let failure: Error | undefined

  return async (header) => {
    const age = performance.now() - loadedAt
    const known = age < fresh + maxStale ? await set(header) : []
    if (age >= fresh || known.length === 0) startFetch()
    if (known.length > 0) return known
    await loading
    if (failure !== undefined) throw failure
    return set(header)
  }

  function startFetch(): void {
    if (loading === undefined && mayFetch()) loading = load().finally(() => (loading = undefined))
  }

  /** Never rejects; `failure` keeps the error of the last fetch. */
  async function load(): Promise<void> {
    try {
      const found = await fetchSet(url, timeout)
      if (algorithm !== undefined && (await found({ alg: algorithm })).length === 0)
        throw new Error(`the set has no key for ${algorithm}`)
      set = found
      loadedAt = performance.now()
      if (failure !== undefined) log?.info('the key set can be fetched again')
      failure = undefined
    } catch (err) {
      if (failure === undefined)
        log?.warn({ err: toLoggable(err) }, 'the key set cannot be fetched; known keys serve for now')
      failure = err instanceof Error ? err : new Error('the fetch of the key set failed', { cause: err })
    }
  }
}

const findNone: FindKeys = async () => []

/** Finds all keys of a set that go with a header: without a `kid`, or with one that is not unique, there may be several. */
export async function findKeys(
  set: (header: KeyHeader) => Promise<CryptoKey>,
  header: KeyHeader
): Promise<readonly CryptoKey[]> {
  try {
    return [await set(header)]
  } catch (err) {
    const { errors } = await import('jose')
    if (err instanceof errors.JWKSNoMatchingKey) return []
    if (!(err instanceof errors.JWKSMultipleMatchingKeys)) throw err
    const keys: CryptoKey[] = []
    for await (const key of err) keys.push(key)
    return keys
  }
}

// A set of its own per fetch, so that one that is refused does not take the place of the last.
async function fetchSet(url: string, timeoutDuration: number): Promise<FindKeys> {
  const { createRemoteJWKSet, customFetch } = await import('jose')
  const set = createRemoteJWKSet(new URL(url), {
    timeoutDuration,
    cacheMaxAge: Infinity,
    cooldownDuration: Infinity,
    [customFetch]: fetchBounded
  })
  await set.reload()
  return (header) => findKeys(set, header)
}

// What is no key is left out: it must not make a set useless.
async function fetchBounded(url: string, options: RequestInit): Promise<Response> {
  const response = await fetch(url, options)
  if (response.status !== 200) {
    await response.body?.cancel()
    return response
  }
  const chunks: Uint8Array[] = []
  let size = 0
  // Leaving the loop closes the connection.
  for await (const chunk of response.body ?? []) {
    size += chunk.length
    if (size > MAX_BYTES) throw new Error(`the set has more than ${MAX_BYTES} bytes`)
    chunks.push(chunk)
  }
  const set = JSON.parse(Buffer.concat(chunks).toString()) as Partial<JSONWebKeySet> | null
  if (!Array.isArray(set?.keys)) throw new Error('the answer is no JSON Web Key Set')
  if (set.keys.length > MAX_KEYS) throw new Error(`the set has more than ${MAX_KEYS} keys`)
  return Response.json({ keys: set.keys.filter(isPublicKey) })
}

function isPublicKey(jwk: JWK): boolean {
  try {
    return createPublicKey({ key: jwk, format: 'jwk' }).type === 'public'
  } catch {
    return false
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
