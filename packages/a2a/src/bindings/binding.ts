import { toLoggable } from '@svc/registry'
import type { OpenReplies } from '@svc/registry/sse'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { toChallenge } from '../auth/identify-request.ts'
import type { ProtocolVersion } from '../model/agent-card.ts'
import type { Call, Surface } from '../surface.ts'
import { toFault, type Fault } from '../wire/to-fault.ts'

/** What both bindings need. */
export interface Binding {
  readonly surface: Surface
  readonly versions: readonly ProtocolVersion[]
  readonly streams: OpenReplies
}

/** Who asks, and in which version. */
export function toCall(request: FastifyRequest, version: ProtocolVersion): Call {
  const { a2aPrincipal: principal, log } = request
  return {
    principal,
    log,
    version,
    get origin() {
      return `${request.protocol}://${request.host}`
    }
  }
}

/** The fault of whatever was thrown, logged, with its headers on the reply. */
export function takeFault(err: unknown, { log }: FastifyRequest, reply: FastifyReply): Fault {
  const fault = toFault(err)
  const { code } = fault
  if (fault.httpStatus >= 500) log.error({ err: toLoggable(err), code }, 'request failed')
  else log.info({ code }, 'request refused')
  const challenge = toChallenge(code)
  if (challenge !== undefined) reply.header('www-authenticate', challenge)
  if (fault.retryAfter !== undefined) reply.header('retry-after', Math.ceil(fault.retryAfter))
  return fault
}
