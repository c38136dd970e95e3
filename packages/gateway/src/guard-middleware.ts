import { logFault, type RunLog } from '@svc/registry'
import type { ExtendedError, Socket } from 'socket.io'
import type { GatewayMiddleware } from './options.ts'
import { toRefusal } from './to-refusal.ts'

/** A middleware as Socket.IO takes it: one that throws or rejects ends the process, so that becomes a refusal. */
export function guardMiddleware(log: RunLog, middleware: GatewayMiddleware) {
  return (socket: Socket, next: (err?: ExtendedError) => void): void => {
    const refuse = (err: unknown) => next(toConnectError(log, err))
    try {
      const answer = middleware(socket, next)
      if (answer instanceof Promise) answer.catch(refuse)
    } catch (err) {
      refuse(err)
    }
  }
}

function toConnectError(log: RunLog, err: unknown): ExtendedError {
  const { error, code, statusCode } = toRefusal(err)
  logFault(log, 'handshake', { code, statusCode }, err)
  return Object.assign(new Error(error), { data: { code } })
}
