import type { Metadata } from '@grpc/grpc-js'
import type { Principal, RunLog } from '@svc/contract'
import type { GrpcHost } from '../../bindings/grpc-binding.ts'
import type { Answer, Caller } from '../../model/requests.ts'

/** The caller of a method. */
export class GrpcCaller implements Caller {
  readonly a2aPrincipal: Principal
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
    this.a2aPrincipal = principal
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
export function headersOf(metadata: Metadata): Record<string, string> {
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
