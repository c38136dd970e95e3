import {
  status as codes,
  Metadata,
  ServerInterceptingCall,
  type ServerInterceptor,
  type StatusObject
} from '@grpc/grpc-js'
import { ANONYMOUS, isPromise, type Principal, type RunLog } from '@svc/contract'
import { identify, readCredentials } from '@svc/surface'
import { takeFault } from '../../bindings/binding.ts'
import { errors } from '../../surface-errors.ts'
import type { GrpcHost } from '../../bindings/grpc-binding.ts'
import type { Answer, Caller } from '../../model/requests.ts'
import type { Codec } from '../../wire/codec.ts'
import { encodeMessage, messageOf } from '../messages.ts'

/** The caller of a method. */
export class GrpcCaller implements Caller {
  readonly caller: Principal
  readonly log: RunLog
  readonly headers: Readonly<Record<string, string>>
  readonly #host: GrpcHost
  readonly #authority: string

  /** `authority` is the host and port that the client called. */
  constructor(
    host: GrpcHost,
    principal: Principal,
    headers: Readonly<Record<string, string>>,
    authority: string
  ) {
    this.caller = principal
    this.log = host.log
    this.headers = headers
    this.#host = host
    this.#authority = authority
  }

  get protocol(): string {
    return this.#http().protocol
  }

  get host(): string {
    return this.#http().host
  }

  #http() {
    return this.#host.httpFrom(URL.parse(`http://${this.#authority}`)?.hostname || 'localhost')
  }
}

/** The texts of metadata; cookies are ignored, as on the other bindings. */
function headersOf(metadata: Metadata): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const name of Object.keys(metadata.getMap())) {
    if (name === 'cookie' || name.endsWith('-bin')) continue
    headers[name] = metadata.get(name).join(', ')
  }
  return headers
}

/** Collects the headers of an answer in metadata. */
export class MetadataAnswer implements Answer {
  readonly #create: () => Metadata
  #metadata: Metadata | undefined

  constructor(create: () => Metadata) {
    this.#create = create
  }

  /** Undefined if there are none. */
  get metadata(): Metadata | undefined {
    return this.#metadata
  }

  header(name: string, value: string | number): void {
    this.#metadata ??= this.#create()
    this.#metadata.set(name, String(value))
  }
}

const Status = messageOf('google.rpc.Status')

/** Turns an error into the status of a call, and logs it. */
export function toRefusal(err: unknown, codec: Codec, caller: Pick<Caller, 'log' | 'headers'>): StatusObject {
  const answer = new MetadataAnswer(() => new Metadata())
  const { code, message, details } = codec.encodeGrpcError(takeFault(err, caller, answer))
  const metadata = answer.metadata ?? new Metadata()
  metadata.set('grpc-status-details-bin', encodeMessage(Status, { code: codes[code], message, details }))
  return { code: codes[code], details: message, metadata }
}

/** Who makes a call, and with what. */
interface Known {
  readonly principal: Principal
  readonly headers: Readonly<Record<string, string>>
}

const known = new WeakMap<Metadata, Known>()

/** The caller with this metadata: anonymous, unless calls are authenticated. */
export function knownCaller(metadata: Metadata): Known {
  return known.get(metadata) ?? { principal: ANONYMOUS, headers: headersOf(metadata) }
}

/** Authenticates calls before their messages are read. */
export function authenticateCalls(
  { surface, log }: GrpcHost,
  codecOf: (path: string) => Codec
): ServerInterceptor[] {
  const { authenticate } = surface.policy
  if (authenticate === undefined) return []
  return [
    ({ path }, call) => {
      return new ServerInterceptingCall(call, {
        start: (next) =>
          next({
            onReceiveMetadata(metadata, pass) {
              const headers = headersOf(metadata)
              const refuse = (err: unknown) =>
                call.sendStatus(toRefusal(err, codecOf(path), { log, headers }))
              const admit = (principal: Principal) => {
                known.set(metadata, { principal, headers })
                pass(metadata)
              }
              try {
                const found = identify(authenticate, readCredentials(headers), errors)
                if (isPromise(found)) found.then(admit, refuse)
                else admit(found)
              } catch (err) {
                refuse(err)
              }
            }
          })
      })
    }
  ]
}
