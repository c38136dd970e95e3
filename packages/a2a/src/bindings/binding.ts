import { andThen, type Principal, type RunLog } from '@svc/contract'
import { logFault, originOf, ProviderKeys, reserveMemory, toChallenge, type OpenReplies } from '@svc/surface'
import type { Answer, Call, Caller, InlineFiles, OperationName } from '../model/requests.ts'
import { errors } from '../surface-errors.ts'
import { OPERATIONS, type Operation } from '../operations.ts'
import { activateExtensions } from '../service/extensions.ts'
import type { Surface } from '../service/surface.ts'
import { toOwnSurface, toTenant } from '../service/tenant.ts'
import type { Codec } from '../wire/codec.ts'
import { toFault, type Fault } from '../wire/to-fault.ts'
import type { ProtocolVersion } from '../wire/versions.ts'

/** A service, and the versions of it that bindings serve. */
export interface Served {
  readonly surface: Surface
  readonly versions: readonly ProtocolVersion[]
}

/** What the bindings over HTTP share. */
export interface Binding extends Served {
  readonly streams: OpenReplies
}

/** The binding below an agent's own endpoint. @throws A2A_ERR_BAD_PARAMS */
export async function toOwnBinding(binding: Binding, agent: string): Promise<Binding> {
  return { ...binding, surface: await toOwnSurface(binding.surface, agent) }
}

/** Decodes the parameters and runs the operation. @throws A2A_ERR_BAD_PARAMS, and what its handler throws */
export function perform(
  { surface }: Served,
  name: OperationName,
  codec: Codec,
  params: Record<string, unknown>,
  caller: Caller,
  answer: Answer
) {
  const operation = OPERATIONS[name] as Operation<OperationName>
  const extensions = activateExtensions(surface.extensions, codec.extensionHeader, caller, answer)
  const decoded = codec.decode[name](params)
  const tenant = codec.tenantOf(params)
  if (tenant === undefined) return handle(surface)
  const served = toTenant(surface, tenant)
  return andThen(served, handle)

  function handle(within: Surface) {
    return operation.handle(within, new RequestCall(within, caller, answer, codec, extensions), decoded)
  }
}

// A class: an object literal would define its accessors again for every request.
class RequestCall implements Call {
  readonly principal: Principal
  readonly log: RunLog
  readonly extensions: readonly string[]
  readonly exposeToolResults: boolean
  readonly inline: InlineFiles | undefined
  readonly #surface: Pick<Surface, 'fileUrl' | 'providerKeyHeaders'>
  readonly #caller: Caller
  readonly #answer: Answer
  readonly #codec: Codec
  #keyed: Call['keyed'] | undefined

  constructor(
    surface: Pick<Surface, 'fileUrl' | 'providerKeyHeaders' | 'exposeToolResults' | 'inline'>,
    caller: Caller,
    answer: Answer,
    codec: Codec,
    extensions: readonly string[]
  ) {
    this.principal = caller.caller
    this.log = caller.log
    this.extensions = extensions
    this.exposeToolResults = surface.exposeToolResults
    this.inline = surface.inline
    this.#surface = surface
    this.#caller = caller
    this.#answer = answer
    this.#codec = codec
  }

  get version(): ProtocolVersion {
    return this.#codec.version
  }

  get endsWhenWaiting(): boolean {
    return this.#codec.endsWhenWaiting
  }

  get hasNoCardError(): boolean {
    return this.#codec.hasNoCardError
  }

  get encodeCard(): Call['encodeCard'] {
    return this.#codec.encode.extendedCard
  }

  get origin(): string {
    return originOf(this.#caller)
  }

  // Only messages need it.
  get keyed(): Call['keyed'] {
    const { headers } = this.#caller
    return (this.#keyed ??= new ProviderKeys(headers, undefined, this.#surface.providerKeyHeaders).forRun(
      this.log
    ))
  }

  reserve(bytes: number): Promise<void> | undefined {
    const { raw } = this.#answer
    return raw && reserveMemory(raw, this.principal.sub, bytes)
  }

  fileUrl(taskId: string, fileId: string): string {
    return this.#surface.fileUrl(this.origin, taskId, fileId)
  }
}

/** Turns an error into a fault, logs it, and sets its headers on the answer. */
export function takeFault(
  err: unknown,
  { log, headers }: Pick<Caller, 'log' | 'headers'>,
  answer: Answer
): Fault {
  const fault = toFault(err)
  const { code, httpStatus: statusCode } = fault
  logFault(log, 'request', { code, statusCode }, err, { headers })
  const challenge = toChallenge(err, errors.challenges)
  if (challenge !== undefined) answer.header('www-authenticate', challenge)
  if (fault.retryAfter !== undefined) answer.header('retry-after', Math.ceil(fault.retryAfter))
  return fault
}
