import { createHash } from 'node:crypto'
import type { StartKey } from '@svc/registry'
import { HTTP_ERR_BAD_IDEMPOTENCY_KEY } from './errors.ts'

/**
 * The start key of a request with an `Idempotency-Key`: the same for the same key and route, with a hash of the body.
 * @throws HTTP_ERR_BAD_IDEMPOTENCY_KEY
 * @see https://datatracker.ietf.org/doc/draft-ietf-httpapi-idempotency-key-header/
 */
export function readStartKey(
  key: string | string[] | undefined,
  route: string,
  body: unknown
): StartKey | undefined {
  if (key === undefined) return undefined
  if (typeof key !== 'string' || !/^[!-~]{1,255}$/.test(key)) throw new HTTP_ERR_BAD_IDEMPOTENCY_KEY()
  return { key: hashOf([route, key]), hash: hashOf(body) }
}

function hashOf(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('base64url')
}
