import type { IncomingHttpHeaders } from 'node:http'
import { isForeignOrigin } from '@svc/surface'
import { HTTP_ERR_CROSS_ORIGIN } from '../errors.ts'

/** The parts of a request that show its origin; a FastifyRequest has them. */
export interface OriginRequest {
  method: string
  /** The requested host and port. */
  host: string
  headers: IncomingHttpHeaders
}

const SAFE_METHODS = new Set(['GET', 'HEAD', 'OPTIONS'])

/**
 * Refuses cross-site requests with cookies (CSRF), which browsers attach by themselves, unless they change nothing.
 * @throws HTTP_ERR_CROSS_ORIGIN
 */
export function checkOrigin({ method, host, headers }: OriginRequest): void {
  if (SAFE_METHODS.has(method)) return
  if (isForeignOrigin(headers, host)) throw new HTTP_ERR_CROSS_ORIGIN()
}
