import type { ClientReadableStream, ClientUnaryCall, ServiceError } from '@grpc/grpc-js'
import { isTellable, unlessLate } from '@svc/contract'
import type {
  RemoteCall,
  RemoteRequest,
  RemoteStream,
  RemoteTransport
} from '../../client/connection/transport.ts'
import { A2A_ERR_BAD_ANSWER, A2A_ERR_REMOTE } from '../../errors.ts'
import { clientCodecFor } from '../../wire/codec-for.ts'
import { GrpcTransportOptionsSchema, requireGrpcOptions, type GrpcTransportOptions } from '../grpc-options.ts'
import { methodOf, type GrpcMethod } from '../grpc-methods.ts'
import { BadProtoError, decodeMessage, encodeMessage } from '../messages.ts'
import { GrpcChannels, locateGrpc, toMetadata } from './grpc-channels.ts'
import { isBroken, toRemoteError } from './grpc-fault.ts'

type Request = RemoteRequest<RemoteCall | RemoteStream>

/** Levels of nesting of an answer. */
const LEVELS = 500

/** gRPC, for the option `transports` of `remoteAgent`. @throws A2A_ERR_BAD_OPTION */
export function grpcTransport(options: GrpcTransportOptions = {}): RemoteTransport {
  requireGrpcOptions(GrpcTransportOptionsSchema, options)
  const channels = new GrpcChannels(options)
  return {
    binding: 'GRPC',
    form: 'rest',
    hasOwnPort: true,
    locate: locateGrpc,
    call: (request) => callUnary(channels, request),
    stream: (request) => callStream(channels, request)
  }
}

async function callUnary(channels: GrpcChannels, request: Request): Promise<unknown> {
  const { limits, url, redact } = request
  const { signal, timeout, maxBytes } = limits
  signal.throwIfAborted()
  const method = methodOf(request.version, request.operation)
  const message = encode(method, request)
  const metadata = toMetadata(request.headers)
  const client = channels.to(url, maxBytes)
  let call: ClientUnaryCall | undefined
  const stop = () => call?.cancel()
  try {
    const bytes = await new Promise<Buffer>((resolve, reject) => {
      const deadline = timeout === undefined ? {} : { deadline: Date.now() + timeout }
      call = client.makeUnaryRequest(method.path, asIs, asIs, message, metadata, deadline, (err, answer) =>
        err === null ? resolve(answer!) : reject(err)
      )
      signal.addEventListener('abort', stop)
    })
    return decode(method, bytes, limits)
  } catch (err) {
    signal.throwIfAborted()
    throw isServiceError(err) ? toRemoteError(err, redact) : err
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

async function* callStream(channels: GrpcChannels, request: Request): AsyncGenerator<unknown, void> {
  const { limits, url, redact } = request
  const { signal, timeout, idleTimeout, maxBytes } = limits
  signal.throwIfAborted()
  const method = methodOf(request.version, request.operation)
  const call: ClientReadableStream<Buffer> = channels
    .to(url, maxBytes)
    .makeServerStreamRequest(method.path, asIs, asIs, encode(method, request), toMetadata(request.headers))
  // Without a listener, an error after we stop reading would end the process.
  call.on('error', () => {})
  const stop = () => call.cancel()
  signal.addEventListener('abort', stop)
  let isBegun = false
  try {
    const events = call[Symbol.asyncIterator]() as AsyncIterator<Buffer, undefined>
    for (;;) {
      const wait = isBegun ? idleTimeout : (timeout ?? idleTimeout)
      const { done, value } = await unlessLate(wait, () => lateError(isBegun, wait), events.next())
      if (done) return
      isBegun = true
      yield decode(method, value, limits)
    }
  } catch (err) {
    signal.throwIfAborted()
    // The caller resumes a stream that broke off.
    if (isServiceError(err) && !(isBegun && isBroken(err))) throw toRemoteError(err, redact)
    throw err
  } finally {
    signal.removeEventListener('abort', stop)
    call.cancel()
  }
}

function lateError(isBegun: boolean, ms: number): Error {
  return isBegun ? new Error(`Nothing came for ${ms} ms`) : new A2A_ERR_REMOTE('it does not answer in time')
}

function encode({ request }: GrpcMethod, { version, params }: Request): Buffer {
  return encodeMessage(request, clientCodecFor(version, 'rest').toGrpcRequest(params))
}

function decode({ response }: GrpcMethod, bytes: Buffer, limits: Request['limits']): unknown {
  limits.take(bytes.length)
  try {
    return decodeMessage(response, bytes, LEVELS)
  } catch (err) {
    if (err instanceof BadProtoError) throw new A2A_ERR_BAD_ANSWER(`as a message of gRPC, ${err.message}`)
    throw err
  }
}

function isServiceError(err: unknown): err is ServiceError {
  const { code, metadata } = err as Partial<ServiceError>
  return !isTellable(err) && typeof code === 'number' && metadata !== undefined
}

const asIs = (bytes: Buffer) => bytes
