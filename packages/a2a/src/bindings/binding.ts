import type { Principal, RunLog } from '@svc/registry'
import { logFault, toChallenge } from '@svc/registry/kit'
import type { OpenReplies } from '@svc/registry/sse'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Call, OperationName } from '../model/requests.ts'
import { OPERATIONS, type Operation } from '../operations.ts'
import { activateExtensions } from '../service/extensions.ts'
import type { Surface } from '../service/surface.ts'
import { toOwnSurface, toTenant } from '../service/tenant.ts'
import type { Codec } from '../wire/codec.ts'
import { toFault, type Fault } from '../wire/to-fault.ts'
import type { ProtocolVersion } from '../wire/versions.ts'

const CHALLENGES = {
  noToken: 'A2A_ERR_NO_TOKEN',
  invalidToken: 'A2A_ERR_BAD_TOKEN',
  missingScope: 'A2A_ERR_FORBIDDEN'
}

/** What both bindings share. */
export interface Binding {
  readonly surface: Surface
  readonly versions: readonly ProtocolVersion[]
  readonly streams: OpenReplies
}

/** The binding below an agent's own endpoint. @throws A2A_ERR_BAD_PARAMS */
export function toOwnBinding(binding: Binding, agent: string): Binding {
  return { ...binding, surface: toOwnSurface(binding.surface, agent) }
}

/** Decodes the parameters and runs the operation. @throws A2A_ERR_BAD_PARAMS, and what its handler throws */
export function perform(
  { surface }: Binding,
  name: OperationName,
  codec: Codec,
  params: Record<string, unknown>,
  request: FastifyRequest,
  reply: FastifyReply
) {
  const operation = OPERATIONS[name] as Operation<OperationName>
  const extensions = activateExtensions(surface.extensions, codec.extensionHeader, request, reply)
  const decoded = codec.decode[name](params)
  const tenant = codec.tenantOf(params)
  const served = tenant === undefined ? surface : toTenant(surface, tenant)
  return operation.handle(served, new RequestCall(served, request, codec, extensions), decoded)
}

// A class: an object literal would define its accessor again for every request.
class RequestCall implements Call {
  readonly principal: Principal
  readonly log: RunLog
  readonly version: ProtocolVersion
  readonly endsWhenWaiting: boolean
  readonly hasNoCardError: boolean
  readonly extensions: readonly string[]
  readonly exposeToolResults: boolean
  readonly #surface: Pick<Surface, 'fileUrl'>
  readonly #request: FastifyRequest

  constructor(
    surface: Pick<Surface, 'fileUrl' | 'exposeToolResults'>,
    request: FastifyRequest,
    codec: Codec,
    extensions: readonly string[]
  ) {
    this.principal = request.a2aPrincipal
    this.log = request.log
    this.version = codec.version
    this.endsWhenWaiting = codec.endsWhenWaiting
    this.hasNoCardError = codec.hasNoCardError
    this.extensions = extensions
    this.exposeToolResults = surface.exposeToolResults
    this.#surface = surface
    this.#request = request
  }

  get origin(): string {
    return `${this.#request.protocol}://${this.#request.host}`
  }

  fileUrl(taskId: string, fileId: string): string {
    return this.#surface.fileUrl(this.origin, taskId, fileId)
  }
}

/** Turns an error into a fault, logs it, and sets its headers on the reply. */
export function takeFault(err: unknown, { log }: FastifyRequest, reply: FastifyReply): Fault {
  const fault = toFault(err)
  const { code, httpStatus: statusCode } = fault
  logFault(log, 'request', { code, statusCode }, err)
  const challenge = toChallenge(err, CHALLENGES)
  if (challenge !== undefined) reply.header('www-authenticate', challenge)
  if (fault.retryAfter !== undefined) reply.header('retry-after', Math.ceil(fault.retryAfter))
  return fault
}
