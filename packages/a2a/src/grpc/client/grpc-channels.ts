import { ChannelCredentials, Client, Metadata } from '@grpc/grpc-js'
import { refusal } from '../../client/connection/remote-fault.ts'
import type { GrpcChannelCredentials, GrpcTlsOptions, GrpcTransportOptions } from '../grpc-options.ts'

/** The connections of a transport: one for each service. */
export class GrpcChannels {
  readonly #credentials: ChannelCredentials
  readonly #clients = new Map<string, Client>()

  constructor({ credentials }: GrpcTransportOptions) {
    this.#credentials = toCredentials(credentials)
  }

  /** The connection to a service, opened at the first call and again when it is lost. @param maxBytes of an answer, and of an event */
  to(url: string, maxBytes: number): Client {
    const target = targetOf(url)
    const key = `${target} ${maxBytes}`
    const known = this.#clients.get(key)
    if (known !== undefined) return known
    const client = new Client(target, this.#credentials, {
      'grpc.max_receive_message_length': maxBytes,
      'grpc.enable_channelz': 0,
      // Nothing but the name is asked of the DNS, and no call is repeated behind our back.
      'grpc.service_config_disable_resolution': 1,
      'grpc.enable_retries': 0
    })
    this.#clients.set(key, client)
    return client
  }
}

/** `host:port` of a card, also with a scheme in front; null for anything else. */
export function locateGrpc(given: string): URL | null {
  const [, host] =
    /^(?:(?:grpcs?|https?):\/\/|dns:\/\/\/)?([\w.-]+:\d{1,5}|\[[\da-fA-F:.]+\]:\d{1,5})\/?$/.exec(given) ?? []
  return host === undefined ? null : URL.parse(`grpc://${host.toLowerCase()}`)
}

function targetOf(url: string): string {
  const { hostname, port, protocol } = new URL(url)
  return `dns:///${hostname}:${port || (protocol === 'https:' ? 443 : 80)}`
}

/** Headers as metadata. @throws A2A_ERR_REMOTE */
export function toMetadata(headers: Readonly<Record<string, string>>): Metadata {
  const metadata = new Metadata()
  for (const [name, value] of Object.entries(headers))
    try {
      metadata.set(name, value)
    } catch {
      // The error of the library has the value, which may be secret.
      throw refusal(`the header ${JSON.stringify(name.slice(0, 100))} cannot be sent over gRPC`)
    }
  return metadata
}

function toCredentials(given: GrpcTlsOptions | GrpcChannelCredentials | undefined): ChannelCredentials {
  if (given === undefined) return ChannelCredentials.createInsecure()
  if ('_isSecure' in given) return given as unknown as ChannelCredentials
  const { ca, key, cert } = given
  return ChannelCredentials.createSsl(toBuffer(ca), toBuffer(key), toBuffer(cert))
}

function toBuffer(pem: string | Uint8Array | undefined): Buffer | null {
  return pem === undefined ? null : Buffer.from(pem)
}
