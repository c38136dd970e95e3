import { createPublicKey, type JsonWebKeyInput } from 'node:crypto'
import { fits, type JwtAlgorithm } from './jwt-algorithms.ts'
import { toPem } from './jwt-key.ts'

/** Public keys in PEM, by their `kid`. */
export type KeySet = ReadonlyMap<string | undefined, string>

/** Bytes of a response, decompressed. */
const MAX_BYTES = 1_048_576
const MAX_KEYS = 100

/**
 * Fetches a JSON Web Key Set (RFC 7517) and keeps the keys for the algorithm. Follows no redirects.
 * Throws if the response is no key set, is too large, or has no such key.
 * @param timeout milliseconds for the whole response
 */
export async function fetchKeySet(url: string, algorithm: JwtAlgorithm, timeout: number): Promise<KeySet> {
  const response = await fetch(url, {
    headers: { accept: 'application/jwk-set+json, application/json' },
    redirect: 'error',
    signal: AbortSignal.timeout(timeout)
  })
  const keys = toKeySet(JSON.parse(await readText(response)), algorithm)
  if (keys.size === 0) throw new Error(`the set has no key for ${algorithm}`)
  return keys
}

async function readText({ ok, status, body }: Response): Promise<string> {
  if (!ok) {
    await body?.cancel()
    throw new Error(`the server answered ${status}`)
  }
  const chunks: Uint8Array[] = []
  let size = 0
  // Leaving the loop closes the connection.
  for await (const chunk of body ?? []) {
    size += chunk.length
    if (size > MAX_BYTES) throw new Error(`the set has more than ${MAX_BYTES} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}

function toKeySet(set: unknown, algorithm: JwtAlgorithm): KeySet {
  const list = (set as { keys?: unknown } | null)?.keys
  if (!Array.isArray(list)) throw new Error('the answer is no JSON Web Key Set')
  if (list.length > MAX_KEYS) throw new Error(`the set has more than ${MAX_KEYS} keys`)
  const keys = new Map<string | undefined, string>()
  for (const jwk of list) {
    const pem = toVerifier(jwk, algorithm)
    if (pem !== undefined && !keys.has(jwk.kid)) keys.set(jwk.kid, pem)
  }
  return keys
}

function toVerifier(jwk: unknown, algorithm: JwtAlgorithm): string | undefined {
  try {
    const { use = 'sig', alg = algorithm, ...key } = jwk as JsonWebKeyInput['key']
    if (use !== 'sig' || alg !== algorithm) return undefined
    const parsed = createPublicKey({ key, format: 'jwk' })
    return fits(parsed, algorithm) ? toPem(parsed) : undefined
  } catch {
    return undefined
  }
}
