import { hash, randomUUID } from 'node:crypto'
import type { RunSummary, StartKey } from '@svc/contract'
import type { FastifyRequest } from 'fastify'
import { OPENAI_ERR_BAD_REQUEST } from '../errors.ts'
import type { ResponseBody } from './response-schemas.ts'

/** Begins the hash of a request with `store: false`: the record of a run says so nowhere else. */
const UNSTORED = 'unstored:'

/**
 * The start key of a request that has an `Idempotency-Key`, or whose response is not to be found later; else undefined.
 * @throws OPENAI_ERR_BAD_REQUEST
 */
export function toStartKey({ headers, body }: FastifyRequest & { body: ResponseBody }): StartKey | undefined {
  const { 'idempotency-key': key } = headers
  const isUnstored = body.store === false
  if (key === undefined && !isUnstored) return undefined
  if (key !== undefined && !/^[!-~]{1,255}$/.test(String(key)))
    throw new OPENAI_ERR_BAD_REQUEST('Idempotency-Key must have 1–255 visible ASCII characters')
  return {
    key: `openai:${key === undefined ? randomUUID() : String(key)}`,
    hash: (isUnstored ? UNSTORED : '') + hash('sha256', JSON.stringify(body))
  }
}

/** False if the request that started the run had `store: false`. */
export function isStored({ startKey }: Pick<RunSummary, 'startKey'>): boolean {
  return startKey?.hash.startsWith(UNSTORED) !== true
}
