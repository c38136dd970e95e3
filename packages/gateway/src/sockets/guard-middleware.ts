import type { RunLog } from '@svc/contract'
import { logFault } from '@svc/surface'
import type { ExtendedError, Socket } from 'socket.io'
import { toRefusal } from '../events/refusals.ts'
import type { GatewayMiddleware } from '../options.ts'

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
