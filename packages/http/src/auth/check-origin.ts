import type { IncomingHttpHeaders } from 'node:http'
import { isForeignOrigin } from '@svc/registry'
import { HTTP_ERR_CROSS_ORIGIN } from '../errors.ts'

/** What of a request says where it comes from; a FastifyRequest has it. */
export interface OriginRequest {
  method: string
  /** Host and port that the client asked for. */
  host: string
  headers: IncomingHttpHeaders
}

const SAFE_METHODS = new Set(['GET', 'HEAD', 'OPTIONS'])

/**
 * Refuses a request that another site's page makes a browser send, with the cookies of its user. For tokens in
 * cookies only: no page can send another's header.
 * @throws HTTP_ERR_CROSS_ORIGIN
 */
export function checkOrigin({ method, host, headers }: OriginRequest): void {
  if (SAFE_METHODS.has(method)) return
  if (isForeignOrigin(headers, host)) throw new HTTP_ERR_CROSS_ORIGIN()
}
