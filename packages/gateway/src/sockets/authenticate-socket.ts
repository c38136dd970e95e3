import { ANONYMOUS, type Credentials, type Principal, type RunLog } from '@svc/contract'
import { identify, isStrayCall, logFault, readCredentials, toCredentials } from '@svc/surface'
import type { ExtendedError, Socket } from 'socket.io'
import { GTW_ERR_CROSS_ORIGIN, GTW_ERR_INVALID_TOKEN } from '../errors.ts'
import { errors } from '../surface-errors.ts'
import { toRefusal } from '../events/check-payload.ts'
import type { GatewayMiddleware, GatewaySettings } from '../options.ts'
import type { GatewayPolicy } from '../surface.ts'
import { isRefusedOrigin } from './origins.ts'

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

/**
 * Wraps a middleware for Socket.IO. A throw or rejection, which would end the process, becomes a refusal. A middleware
 * still pending when its connection closes is settled, since Socket.IO would otherwise keep the socket.
 */
export function guardMiddleware(log: RunLog, middleware: GatewayMiddleware) {
  return (socket: Socket, next: (err?: ExtendedError) => void): void => {
    const { conn } = socket
    let isSettled = false
    const settle = (err?: ExtendedError) => {
      if (isSettled) return
      isSettled = true
      conn.off('close', abandon)
      next(err)
    }
    const abandon = () => settle(new Error('The connection is closed'))
    const refuse = (err: unknown) => settle(toConnectError(log, err, socket))
    if (conn.readyState === 'closed') return abandon()
    // A client may begin many handshakes at once, up to its limit of packets.
    conn.setMaxListeners(0).once('close', abandon)
    try {
      const answer = middleware(socket, settle)
      if (answer instanceof Promise) answer.catch(refuse)
    } catch (err) {
      refuse(err)
    }
  }
}

function toConnectError(log: RunLog, err: unknown, { handshake }: Pick<Socket, 'handshake'>): ExtendedError {
  const { error, code, statusCode } = toRefusal(err)
  const { headers, auth } = handshake
  logFault(log, 'handshake', { code, statusCode }, err, { headers, token: auth?.['token'] })
  return Object.assign(new Error(error), { data: { code } })
}
