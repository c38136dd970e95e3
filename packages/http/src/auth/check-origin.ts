import type { IncomingHttpHeaders } from 'node:http'
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
 * cookies only: no page can send another's header. Schemes are not compared, as a proxy may end TLS.
 * @throws HTTP_ERR_CROSS_ORIGIN
 */
export function checkOrigin({ method, host, headers }: OriginRequest): void {
  if (SAFE_METHODS.has(method)) return
  const { origin } = headers
  if (headers['sec-fetch-site'] === 'cross-site' || (origin !== undefined && !isSameHost(origin, host)))
    throw new HTTP_ERR_CROSS_ORIGIN()
}

function isSameHost(origin: string, host: string): boolean {
  const from = URL.parse(origin)
  // Parsed under the same scheme, so that its default port may be written or not.
  const here = from && URL.parse(`${from.protocol}//${host}`)
  return from !== null && here !== null && from.host !== '' && from.host === here.host
}
