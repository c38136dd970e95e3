import { fromBinary } from '@bufbuild/protobuf'
import type { Any } from '@bufbuild/protobuf/wkt'
import {
  ChannelCredentials,
  Client,
  type ClientReadableStream,
  type ClientUnaryCall,
  Metadata,
  type ServiceError,
  status as codes
} from '@grpc/grpc-js'
import { isExposed, unlessLate } from '@svc/contract'
import { isProtocolCode, protocolFault, refusal } from '../../client/connection/remote-fault.ts'
import type {
  RemoteCall,
  RemoteRequest,
  RemoteStream,
  RemoteTransport
} from '../../client/connection/transport.ts'
import { A2A_ERR_BAD_ANSWER, A2A_ERR_REMOTE } from '../../errors.ts'
import { type GrpcMethod, methodOf } from '../server/add-service.ts'
import {
  type GrpcChannelCredentials,
  type GrpcTlsOptions,
  type GrpcTransportOptions,
  GrpcTransportOptionsSchema,
  requireGrpcOptions
} from '../grpc-options.ts'
import { BadProtoError, decodeMessage, encodeMessage, messageOf } from '../messages.ts'
import { clientCodecFor } from '../../wire/codec-for.ts'
import { parseRefusal } from '../../wire/read-refusal.ts'

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
  return !isExposed(err) && typeof code === 'number' && metadata !== undefined
}

const asIs = (bytes: Buffer) => bytes

/** The connections of a transport: one for each service. */
class GrpcChannels {
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
function locateGrpc(given: string): URL | null {
  const [, host] =
    /^(?:(?:grpcs?|https?):\/\/|dns:\/\/\/)?([\w.-]+:\d{1,5}|\[[\da-fA-F:.]+\]:\d{1,5})\/?$/.exec(given) ?? []
  return host === undefined ? null : URL.parse(`grpc://${host.toLowerCase()}`)
}

function targetOf(url: string): string {
  const { hostname, port, protocol } = new URL(url)
  return `dns:///${hostname}:${port || (protocol === 'https:' ? 443 : 80)}`
}

/** Headers as metadata. @throws A2A_ERR_REMOTE */
function toMetadata(headers: Readonly<Record<string, string>>): Metadata {
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

const Status = messageOf('google.rpc.Status')
const ErrorInfo = messageOf('google.rpc.ErrorInfo')
const DETAILS = 'grpc-status-details-bin'
const ERROR_INFO = 'type.googleapis.com/google.rpc.ErrorInfo'
/** Levels of nesting of an error's details. */
const DETAIL_LEVELS = 10

/** Codes after which the same request may succeed. */
const TEMPORARY = new Set<codes>([
  codes.CANCELLED,
  codes.UNKNOWN,
  codes.DEADLINE_EXCEEDED,
  codes.RESOURCE_EXHAUSTED,
  codes.ABORTED,
  codes.INTERNAL,
  codes.UNAVAILABLE,
  codes.DATA_LOSS
])

/** True for the error of a call that broke off: the service did not end it by itself, or asks to try again. */
function isBroken({ code, metadata }: ServiceError): boolean {
  if (code === codes.UNAVAILABLE || code === codes.CANCELLED) return true
  return code === codes.INTERNAL && metadata.get(DETAILS).length === 0
}

/** The error of a call that the service, or the network, did not complete. The text of the service is redacted. */
function toRemoteError(err: ServiceError, redact: (text: string) => string): Error {
  const { code, details, metadata } = err
  const hasDetails = metadata.get(DETAILS).length > 0
  if (code === codes.UNAVAILABLE && !hasDetails)
    return new A2A_ERR_REMOTE('it cannot be reached', { cause: err })
  if (code === codes.DEADLINE_EXCEEDED) return new A2A_ERR_REMOTE('it does not answer in time')
  if (code === codes.RESOURCE_EXHAUSTED && details.startsWith('Received message '))
    return new A2A_ERR_BAD_ANSWER('it is too large')
  const status = codes[code]
  const found = parseRefusal({ error: { status, details: detailsOf(err) } })
  if (isProtocolCode(found?.code)) return protocolFault(redact(`${found.code} ${details}`.trim()), found.code)
  const text = redact(`it answers with ${status}${details === '' ? '' : `: ${details}`}`).slice(0, 500)
  return Object.assign(new A2A_ERR_REMOTE(text), { retryable: TEMPORARY.has(code) })
}

// Without details, the one status of one error of the protocol still says which it is.
function detailsOf({ code, metadata }: ServiceError): object[] {
  const [bytes] = metadata.get(DETAILS)
  const unnamed = code === codes.NOT_FOUND ? [{ reason: 'TASK_NOT_FOUND' }] : []
  if (!(bytes instanceof Uint8Array)) return unnamed
  try {
    const { details } = fromBinary(Status, bytes) as unknown as { details: Any[] }
    return details
      .filter(({ typeUrl }) => typeUrl === ERROR_INFO)
      .map(({ value }) => decodeMessage(ErrorInfo, value, DETAIL_LEVELS))
  } catch {
    return unnamed
  }
}
