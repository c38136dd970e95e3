import type { FastifyBaseLogger, FastifyInstance } from 'fastify'
import type { Served } from './binding.ts'

/** gRPC, for the option `grpc`; `grpcBinding` of `@svc/a2a/grpc` makes it. */
export interface GrpcBinding {
  /** Serves over a port of its own. @throws A2A_ERR_GRPC_LISTEN */
  listen(host: GrpcHost): Promise<GrpcListener>
}

/** A service that is served over gRPC. */
export interface GrpcHost extends Served {
  readonly log: FastifyBaseLogger
  /** The limits of requests, as over HTTP. */
  readonly bodyLimit: number
  readonly jsonDepth: number
  /** The endpoint of HTTP for a client that reached this host; its files are there. */
  httpFrom(hostname: string): HttpAddress
}

export interface HttpAddress {
  readonly protocol: string
  readonly host: string
}

export interface GrpcListener {
  /** `host:port`, for clients that reached the endpoint of HTTP at a host. */
  urlFrom(hostname: string): string
  /** Ends calls, soon by force. */
  close(): Promise<void>
}

/** The port of gRPC beside an app: open from the time the app is ready until it closes. */
export class GrpcPort {
  readonly #binding: GrpcBinding
  #listener: GrpcListener | undefined

  constructor(binding: GrpcBinding) {
    this.#binding = binding
  }

  /** `host:port` on cards; undefined before it is open. @param origin at which the client reached the endpoint of HTTP */
  urlFrom(origin: string): string | undefined {
    return this.#listener?.urlFrom(URL.parse(origin)?.hostname ?? 'localhost')
  }

  /** Listens once the app is ready. If that fails, so does the app's start. */
  openWith(scope: FastifyInstance, host: Omit<GrpcHost, 'log' | 'httpFrom'>): void {
    const { log } = scope
    const httpFrom = (hostname: string) => httpAddressOf(scope, hostname)
    scope.addHook('onReady', async () => {
      this.#listener = await this.#binding.listen({ ...host, log, httpFrom })
    })
    const close = async () => this.#listener?.close()
    scope.addHook('preClose', close)
    // Of an app that did not start, these hooks alone run.
    scope.addHook('onClose', close)
  }
}

const EVERYWHERE = new Set(['0.0.0.0', '::'])

function httpAddressOf({ server, initialConfig }: FastifyInstance, hostname: string): HttpAddress {
  const protocol = initialConfig.https ? 'https' : 'http'
  const bound = server.address()
  if (bound === null || typeof bound === 'string') return { protocol, host: hostname }
  const { address, port } = bound
  return { protocol, host: toHost(EVERYWHERE.has(address) ? hostname : address, port) }
}

/** The host and port of a URL; addresses of IPv6 are in brackets. */
export function toHost(hostname: string, port: number): string {
  return `${hostname.includes(':') && !hostname.startsWith('[') ? `[${hostname}]` : hostname}:${port}`
}
