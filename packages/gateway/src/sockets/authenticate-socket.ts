import { ANONYMOUS, type Credentials, type Principal } from '@svc/contract'
import { identify, isStrayCall, readCredentials, toCredentials } from '@svc/surface'
import type { Socket } from 'socket.io'
import { GTW_ERR_CROSS_ORIGIN, GTW_ERR_INVALID_TOKEN } from '../errors.ts'
import type { GatewaySettings } from '../options.ts'
import { isRefusedOrigin } from './origins.ts'
import type { GatewayPolicy } from '../surface.ts'
import { errors } from '../surface-errors.ts'

/**
 * Authenticates a handshake.
 * @throws GTW_ERR_NO_TOKEN, GTW_ERR_INVALID_TOKEN, GTW_ERR_CROSS_ORIGIN, and errors of status 500 or more unchanged
 */
export async function authenticateSocket(
  { handshake, request }: Pick<Socket, 'handshake' | 'request'>,
  { authenticate, hosts }: Pick<GatewayPolicy, 'authenticate' | 'hosts'>,
  { cookieName, cors }: Pick<GatewaySettings, 'cookieName' | 'cors'>
): Promise<Principal> {
  if (authenticate === undefined) {
    const { host, origin } = handshake.headers
    // Pages that CORS admits may connect from elsewhere.
    const call = {
      host,
      origin: cors === undefined ? origin : undefined,
      localAddress: request.socket.localAddress
    }
    if (isStrayCall(call, hosts)) throw new GTW_ERR_CROSS_ORIGIN()
    return ANONYMOUS
  }
  if (isRefusedOrigin(handshake.headers, cors)) throw new GTW_ERR_CROSS_ORIGIN()
  return identify(authenticate, readHandshake(handshake, cookieName), errors)
}

/**
 * Reads the credentials of a handshake. The token comes from `auth.token`, else `Authorization: Bearer …`, else the
 * cookie; never from the query. The cookies are there only without one of the first two.
 * @throws GTW_ERR_INVALID_TOKEN if `auth.token` is not a string
 */
export function readHandshake(
  { headers, auth, url }: Pick<Socket['handshake'], 'headers' | 'auth' | 'url'>,
  cookieName: string
): Credentials & { url: string } {
  const token = auth?.['token'] as unknown
  if (token !== undefined && token !== null && typeof token !== 'string') throw new GTW_ERR_INVALID_TOKEN()
  return { ...toHandshakeCredentials(headers, token ?? undefined, cookieName), url: url.split('?', 1)[0]! }
}

function toHandshakeCredentials(
  headers: Socket['handshake']['headers'],
  token: string | undefined,
  cookieName: string
): Credentials {
  if (token !== undefined) return toCredentials(headers, token)
  const fromHeader = readCredentials(headers)
  return fromHeader.token === undefined
    ? readCredentials(headers, { extractFrom: 'cookie', cookieName })
    : fromHeader
}
