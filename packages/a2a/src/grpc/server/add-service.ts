import type { DescMessage } from '@bufbuild/protobuf'
import {
  Metadata,
  type sendUnaryData,
  type Server,
  type ServerUnaryCall,
  type ServerWritableStream,
  type ServiceDefinition,
  type UntypedServiceImplementation
} from '@grpc/grpc-js'
import { isPromise } from '@svc/contract'
import { RUN_ERR_DRAINING } from '@svc/contract/errors'
import { LogReader } from '@svc/surface'
import { perform } from '../../bindings/binding.ts'
import type { GrpcHost } from '../../bindings/grpc-binding.ts'
import { negotiateVersion } from '../../bindings/json-rpc.ts'
import type { RemoteCall, RemoteStream } from '../../client/connection/transport.ts'
import { A2A_ERR_BAD_PROTO } from '../../errors.ts'
import type { OperationName } from '../../model/requests.ts'
import type { TaskEvent } from '../../model/task.ts'
import { isStreaming, OPERATION_NAMES, OPERATIONS } from '../../operations.ts'
import type { Surface } from '../../service/surface.ts'
import type { TaskStream } from '../../tasks/task-stream.ts'
import { codecFor } from '../../wire/codec-for.ts'
import type { Codec } from '../../wire/codec.ts'
import type { ProtocolVersion } from '../../wire/versions.ts'
import { BadProtoError, decodeMessage, encodeMessage, serviceOf } from '../messages.ts'
import { GrpcCaller, knownCaller, MetadataAnswer, toRefusal } from './authenticate-calls.ts'

type Stream = ServerWritableStream<Buffer, Buffer>

/**
 * Sends the events of a task, as fast as the client takes them: the log is read when there is room for more. The task does not end
 * with the call.
 * @throws RUN_ERR_DRAINING if the task outlives this process, and the errors of the log
 */
async function sendEvents(
  { runs, heartbeat }: Pick<Surface, 'runs' | 'heartbeat'>,
  events: TaskStream,
  call: Stream,
  encode: (event: TaskEvent) => Buffer
): Promise<void> {
  const reader = new LogReader(runs, events.runId, events.after)
  const idle = new Idle(reader, call, heartbeat)
  try {
    if (!call.write(encode(events.first))) await untilDrained(call)
    while (!events.ended && !reader.ended && !call.destroyed) {
      const reading = reader.read()
      const entries = isPromise(reading) ? await reading : reading
      for (const entry of entries) {
        const making = events.next(entry)
        for (const event of isPromise(making) ? await making : making)
          if (!call.write(encode(event))) await untilDrained(call)
        if (events.ended || call.destroyed) return
      }
      if (entries.length === 0 && !reader.ended) await idle.untilNews()
    }
    if (reader.fault !== undefined) throw reader.fault
    if (reader.suspended) throw new RUN_ERR_DRAINING()
  } finally {
    idle.end()
    reader.close()
  }
}

function untilDrained(call: Stream): Promise<void> {
  if (call.destroyed || !call.writableNeedDrain) return Promise.resolve()
  return new Promise((resolve) => {
    const done = () => {
      call.off('drain', done).off('close', done)
      resolve()
    }
    call.on('drain', done).on('close', done)
  })
}

/** Waits for news of a log, or for the client to leave. */
class Idle {
  readonly #reader: LogReader
  readonly #call: Stream
  readonly #timer: NodeJS.Timeout
  #wake: (() => void) | undefined
  readonly #leave = () => this.#wake?.()

  constructor(reader: LogReader, call: Stream, every: number) {
    this.#reader = reader
    this.#call = call
    // A lost wake-up delays the stream by one heartbeat at most.
    this.#timer = setInterval(() => reader.lookAgain(), every).unref()
    call.on('close', this.#leave)
  }

  untilNews(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve
      this.#reader.onNews(resolve)
      if (this.#call.destroyed) resolve()
    })
  }

  end(): void {
    clearInterval(this.#timer)
    this.#call.off('close', this.#leave)
  }
}

type Unary = ServerUnaryCall<Buffer, Buffer>
type Streaming = ServerWritableStream<Buffer, Buffer>

/** Adds the methods of a version to a server. */
export function addService(server: Server, host: GrpcHost, methods: ReadonlyMap<string, GrpcMethod>): void {
  const definition: Record<string, ServiceDefinition[string]> = {}
  const handlers: UntypedServiceImplementation = {}
  for (const [name, method] of methods) {
    definition[name] = {
      path: method.path,
      requestStream: false,
      responseStream: method.isStreaming,
      ...AS_BYTES
    }
    handlers[name] = method.isStreaming
      ? (call: Streaming) => void stream(host, method, call)
      : (call: Unary, reply: sendUnaryData<Buffer>) => void answer(host, method, call, reply)
  }
  server.addService(definition, handlers)
}

// The messages are encoded and decoded here, where errors are known.
const asIs = (bytes: Buffer) => bytes
const AS_BYTES = {
  requestSerialize: asIs,
  requestDeserialize: asIs,
  responseSerialize: asIs,
  responseDeserialize: asIs
}

async function answer(host: GrpcHost, method: GrpcMethod, call: Unary, reply: sendUnaryData<Buffer>) {
  const caller = callerOf(host, call)
  const { codec, operation, response } = method
  try {
    const result = await execute(host, method, caller, call)
    reply(null, encodeMessage(response, (codec.encode[operation] as (value: unknown) => object)(result)))
  } catch (err) {
    reply(toRefusal(err, codec, caller))
  }
}

async function stream(host: GrpcHost, method: GrpcMethod, call: Streaming): Promise<void> {
  const caller = callerOf(host, call)
  const { codec, response } = method
  try {
    const events = (await execute(host, method, caller, call)) as TaskStream
    await sendEvents(host.surface, events, call, (event) => encodeMessage(response, codec.encodeEvent(event)))
    call.end()
  } catch (err) {
    if (!call.destroyed) call.emit('error', toRefusal(err, codec, caller))
  }
}

function execute(host: GrpcHost, method: GrpcMethod, caller: GrpcCaller, call: Unary | Streaming) {
  const { codec, operation } = method
  const { refusal } = negotiateVersion({ headers: caller.headers, query: {} }, host.versions, 'grpc')
  if (refusal !== undefined) throw refusal
  const answered = new MetadataAnswer(() => new Metadata())
  const params = decode(method, call.request, host.jsonDepth)
  const result = perform(host, operation, codec, params, caller, answered)
  if (answered.metadata !== undefined) call.sendMetadata(answered.metadata)
  return result
}

function callerOf(host: GrpcHost, call: Unary | Streaming): GrpcCaller {
  const { principal, headers } = knownCaller(call.metadata)
  return new GrpcCaller(host, principal, headers, call.getHost())
}

function decode({ request }: GrpcMethod, bytes: Buffer, jsonDepth: number): Record<string, unknown> {
  try {
    return decodeMessage(request, bytes, jsonDepth)
  } catch (err) {
    if (err instanceof BadProtoError) throw new A2A_ERR_BAD_PROTO(err.message)
    throw err
  }
}

/** A method of a service. */
export interface GrpcMethod {
  readonly operation: OperationName
  readonly isStreaming: boolean
  readonly codec: Codec
  /** `/service/method`. */
  readonly path: string
  readonly request: DescMessage
  readonly response: DescMessage
}

const found = new Map<ProtocolVersion, ReadonlyMap<string, GrpcMethod>>()

/** The methods of the operation table in a version, by name. */
export function methodsOf(version: ProtocolVersion): ReadonlyMap<string, GrpcMethod> {
  const known = found.get(version)
  if (known !== undefined) return known
  const methods = findMethods(version)
  found.set(version, methods)
  return methods
}

/** The method of an operation; each version has those that clients call. */
export function methodOf(version: ProtocolVersion, operation: RemoteCall | RemoteStream): GrpcMethod {
  return methodsOf(version).get(OPERATIONS[operation].grpc[version]!)!
}

function findMethods(version: ProtocolVersion): ReadonlyMap<string, GrpcMethod> {
  const codec = codecFor(version, 'grpc')
  const service = serviceOf(codec.grpcService)
  const methods = new Map<string, GrpcMethod>()
  for (const operation of OPERATION_NAMES) {
    const name = OPERATIONS[operation].grpc[version]
    if (name === undefined) continue
    const { input: request, output: response } = service.methods.find((each) => each.name === name)!
    const path = `/${service.typeName}/${name}`
    methods.set(name, { operation, isStreaming: isStreaming(operation), codec, path, request, response })
  }
  return methods
}
