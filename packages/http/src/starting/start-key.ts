import { createHash } from 'node:crypto'
import type { RunBody, StartKey } from '@svc/registry'
import { HTTP_ERR_BAD_IDEMPOTENCY_KEY } from '../errors.ts'
import type { UploadedFile } from '../uploads/uploaded-file.ts'

/**
 * Builds the start key of a request with an `Idempotency-Key`: a hash of route and key, and a hash of the body without the
 * caller's provider key.
 * @throws HTTP_ERR_BAD_IDEMPOTENCY_KEY
 * @see https://datatracker.ietf.org/doc/draft-ietf-httpapi-idempotency-key-header/
 */
export function readStartKey(
  key: string | string[] | undefined,
  route: string,
  body: RunBody,
  files: readonly UploadedFile[] = []
): StartKey | undefined {
  const read = readKey(key, route)
  return read === undefined ? undefined : { key: read, hash: hashBody(body, files) }
}

/** The same without the body, before it is read. @throws HTTP_ERR_BAD_IDEMPOTENCY_KEY */
export function readKey(key: string | string[] | undefined, route: string): string | undefined {
  if (key === undefined) return undefined
  if (typeof key !== 'string' || !/^[!-~]{1,255}$/.test(key)) throw new HTTP_ERR_BAD_IDEMPOTENCY_KEY()
  return createHash('sha256')
    .update(JSON.stringify([route, key]))
    .digest('base64url')
}

function hashBody({ apiKey: _, ...asked }: RunBody, files: readonly UploadedFile[]): string {
  const hash = createHash('sha256').update(JSON.stringify(asked))
  for (const { sha256 } of files) hash.update(sha256)
  return hash.digest('base64url')
}
