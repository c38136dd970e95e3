import { ANONYMOUS, type Credentials, type Principal } from '@svc/registry'
import { identify, readCredentials } from '@svc/registry/kit'
import type { Socket } from 'socket.io'
import { GTW_ERR_CROSS_ORIGIN, GTW_ERR_INVALID_TOKEN, GTW_ERR_NO_TOKEN } from '../errors.ts'
import type { GatewaySettings } from '../options.ts'
import { isRefusedOrigin } from './origins.ts'
import type { GatewayPolicy } from '../surface.ts'

const CREDENTIAL_ERRORS = { NoToken: GTW_ERR_NO_TOKEN, InvalidToken: GTW_ERR_INVALID_TOKEN }

/**
 * Who opens a socket.
 * @throws GTW_ERR_NO_TOKEN, GTW_ERR_INVALID_TOKEN, GTW_ERR_CROSS_ORIGIN, and errors of 500 and over as they are
 */
export async function authenticateSocket(
  { handshake }: Pick<Socket, 'handshake'>,
  { authenticate }: Pick<GatewayPolicy, 'authenticate'>,
  { cookieName, cors }: Pick<GatewaySettings, 'cookieName' | 'cors'>
): Promise<Principal> {
  if (authenticate === undefined) return ANONYMOUS
  const credentials = readHandshake(handshake, cookieName)
  if (!hasOwnToken(handshake) && isRefusedOrigin(handshake.headers, cors)) throw new GTW_ERR_CROSS_ORIGIN()
  return identify(authenticate, credentials, CREDENTIAL_ERRORS)
}

/**
 * The credentials of a handshake: the token is `auth.token`, else that of `Authorization: Bearer …`, else that of the
 * cookie. One in the query is ignored.
 * @throws GTW_ERR_INVALID_TOKEN when `auth.token` is no string
 */
export function readHandshake(
  { headers, auth, url }: Pick<Socket['handshake'], 'headers' | 'auth' | 'url'>,
  cookieName: string
): Credentials & { url: string } {
  const token = auth?.['token'] as unknown
  if (token !== undefined && token !== null && typeof token !== 'string') throw new GTW_ERR_INVALID_TOKEN()
  const fromHeader = readCredentials(headers)
  const found =
    token ?? fromHeader.token ?? readCredentials(headers, { extractFrom: 'cookie', cookieName }).token
  const { cookies } = fromHeader
  return { ...(found !== undefined && { token: found }), headers, cookies, url: url.split('?', 1)[0]! }
}

function hasOwnToken({ auth }: Socket['handshake']): boolean {
  return typeof auth?.['token'] === 'string'
}
