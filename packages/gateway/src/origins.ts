import type { IncomingHttpHeaders } from 'node:http'
import { isForeignOrigin } from '@svc/registry'
import type { GatewaySettings } from './options.ts'

/**
 * Whether a handshake with cookies comes from a page that may not use them. Browsers open WebSockets to everywhere, with
 * cookies, whatever CORS says. `*` and `true` allow no cookies, and a function is not asked: origins must be named.
 */
export function isRefusedOrigin(headers: IncomingHttpHeaders, cors: GatewaySettings['cors']): boolean {
  if (headers.cookie === undefined || headers.authorization !== undefined) return false
  const { origin, host = '' } = headers
  if (!isForeignOrigin(headers, host)) return false
  return origin === undefined || !names(cors?.origin, origin)
}

function names(allowed: unknown, origin: string): boolean {
  if (Array.isArray(allowed)) return allowed.some((each) => names(each, origin))
  return allowed instanceof RegExp ? new RegExp(allowed).test(origin) : allowed === origin
}
