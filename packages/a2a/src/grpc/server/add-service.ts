import {
  Metadata,
  type sendUnaryData,
  type Server,
  type ServerUnaryCall,
  type ServerWritableStream,
  type ServiceDefinition,
  type UntypedServiceImplementation
} from '@grpc/grpc-js'
import { perform } from '../../bindings/binding.ts'
import type { GrpcHost } from '../../bindings/grpc-binding.ts'
import { negotiateVersion } from '../../bindings/negotiate-version.ts'
import { A2A_ERR_BAD_PROTO } from '../../errors.ts'
import type { TaskStream } from '../../tasks/task-stream.ts'
import { BadProtoError, decodeMessage, encodeMessage } from '../messages.ts'
import { knownCaller } from './authenticate-calls.ts'
import { GrpcCaller, MetadataAnswer } from './grpc-caller.ts'
import type { GrpcMethod } from '../grpc-methods.ts'
import { toRefusal } from './grpc-refusal.ts'
import { sendEvents } from './send-events.ts'

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
