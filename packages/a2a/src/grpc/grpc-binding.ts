import { Server, ServerCredentials } from '@grpc/grpc-js'
import { toHost, type GrpcBinding, type GrpcHost, type GrpcListener } from '../bindings/grpc-binding.ts'
import { A2A_ERR_GRPC_LISTEN } from '../errors.ts'
import { GrpcBindingOptionsSchema, requireGrpcOptions, type GrpcBindingOptions } from './grpc-options.ts'
import { addService, methodsOf } from './server/add-service.ts'
import { authenticateCalls } from './server/authenticate-calls.ts'

/** Milliseconds that calls have to end once the runs of a closing app have. */
const GRACE = 1_000
const MAX_STREAMS = 100
const EVERYWHERE = new Set(['0.0.0.0', '::', '[::]'])

/** gRPC, for the option `grpc` of the plugin: a server of its own, with the versions that the plugin serves. @throws A2A_ERR_BAD_OPTION */
export function grpcBinding(options: GrpcBindingOptions): GrpcBinding {
  requireGrpcOptions(GrpcBindingOptionsSchema, options)
  return { listen: (host) => listen(options, host) }
}

async function listen(options: GrpcBindingOptions, host: GrpcHost): Promise<GrpcListener> {
  const { host: address = '127.0.0.1', url } = options
  const services = host.versions.map(methodsOf)
  const byPath = new Map(
    services.flatMap((methods) => [...methods.values()].map((each) => [each.path, each]))
  )
  const server = new Server({
    'grpc.max_receive_message_length': options.maxMessageBytes ?? host.bodyLimit,
    'grpc.max_concurrent_streams': options.maxConcurrentStreams ?? MAX_STREAMS,
    // Notices clients that are gone without a word, as comments on event streams do.
    'grpc.keepalive_time_ms': host.surface.heartbeat,
    'grpc.enable_channelz': 0,
    interceptors: authenticateCalls(host, (path) => byPath.get(path)!.codec)
  })
  for (const methods of services) addService(server, host, methods)
  const port = await bind(server, toHost(address, options.port), options)
  return {
    urlFrom: (hostname) => url ?? toHost(EVERYWHERE.has(address) ? hostname : address, port),
    close: () => shutDown(server)
  }
}

async function bind(server: Server, to: string, options: GrpcBindingOptions): Promise<number> {
  try {
    const credentials = toCredentials(options.credentials)
    return await new Promise<number>((resolve, reject) => {
      server.bindAsync(to, credentials, (err, port) => (err === null ? resolve(port) : reject(err)))
    })
  } catch (err) {
    server.forceShutdown()
    throw new A2A_ERR_GRPC_LISTEN(to, { cause: err })
  }
}

function toCredentials(given: GrpcBindingOptions['credentials']): ServerCredentials {
  if (given === undefined) return ServerCredentials.createInsecure()
  if (!('key' in given)) return given as unknown as ServerCredentials
  const { key, cert, ca } = given
  const pairs = [{ private_key: Buffer.from(key), cert_chain: Buffer.from(cert) }]
  return ServerCredentials.createSsl(ca === undefined ? null : Buffer.from(ca), pairs, ca !== undefined)
}

async function shutDown(server: Server): Promise<void> {
  await new Promise<void>((resolve) => {
    const timer = setTimeout(() => {
      server.forceShutdown()
      resolve()
    }, GRACE)
    server.tryShutdown(() => {
      clearTimeout(timer)
      resolve()
    })
  })
}
