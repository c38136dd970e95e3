import { quoteName } from '@svc/registry'
import { SSE_HEADERS } from '@svc/registry/sse'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { A2A_ERR_UNKNOWN_METHOD } from '../errors.ts'
import type { ProtocolVersion } from '../model/agent-card.ts'
import type { OperationName } from '../model/requests.ts'
import type { TaskEvent } from '../model/task.ts'
import { OPERATION_NAMES, OPERATIONS, type StreamingName } from '../operations.ts'
import type { TaskStream } from '../tasks/task-stream.ts'
import type { Codec } from '../wire/codec.ts'
import { badParams } from '../wire/decode-params.ts'
import { codecV03 } from '../wire/v0.3/codec.ts'
import { codecV10 } from '../wire/v1.0/codec.ts'
import { perform, takeFault, type Binding } from './binding.ts'
import { createEventStream, encodeData } from './event-stream.ts'
import { negotiateVersion, refuse } from './negotiate-version.ts'
import { idOf, readCall, type RpcCall } from './rpc-call.ts'
import { sendJson } from './send-json.ts'

interface Method {
  readonly name: OperationName
  readonly codec: Codec
}

const CODECS: Readonly<Record<ProtocolVersion, Codec>> = { '0.3': codecV03, '1.0': codecV10 }

const METHODS = new Map<string, Method>(
  OPERATION_NAMES.flatMap((name) =>
    Object.values(CODECS).map((codec) => [OPERATIONS[name].rpc[codec.version], { name, codec }])
  )
)

/** JSON-RPC 2.0, both dialects on one path, told apart by the names of the methods. */
export async function answerRpc(binding: Binding, request: FastifyRequest, reply: FastifyReply) {
  let id = 'null'
  let codec: Codec = codecV03
  let call: RpcCall | undefined
  try {
    codec = codecOf(request, binding)
    call = readCall(request.body)
    id = call.id ?? 'null'
    const method = requireMethod(call.method, binding.versions)
    codec = method.codec
    negotiateVersion(request, binding.versions)
    return await execute(binding, method, call, request, reply)
  } catch (err) {
    if (call !== undefined && call.id === undefined) return acknowledge(err, request, reply)
    return refuseRpc(err, codec, idOf(err) ?? id, request, reply, isLegacyStream(call, request))
  }
}

/** Answers what failed before there was a call. */
export function refuseRpc(
  err: unknown,
  codec: Codec,
  id: string,
  request: FastifyRequest,
  reply: FastifyReply,
  asStream = false
) {
  const fault = takeFault(err, request, reply)
  const json = `{"jsonrpc":"2.0","id":${id},"error":${JSON.stringify(codec.encodeRpcError(fault))}}`
  if (asStream) return reply.headers(SSE_HEADERS).send(encodeData(json))
  reply.code(fault.keepsStatus ? fault.httpStatus : 200)
  return reply.type('application/json; charset=utf-8').send(json)
}

/** The codec of the version that a request names; before 1.0 there was no way to. */
export function codecOf(request: FastifyRequest, { versions }: Pick<Binding, 'versions'>): Codec {
  const fallback = versions.includes('0.3') ? codecV03 : codecV10
  try {
    const named = negotiateVersion(request, versions)
    return named === undefined ? fallback : CODECS[named]
  } catch {
    return fallback
  }
}

async function execute(
  binding: Binding,
  { name, codec }: Method,
  { id, params }: RpcCall,
  request: FastifyRequest,
  reply: FastifyReply
) {
  if (typeof params !== 'object' || params === null || Array.isArray(params))
    throw badParams('', 'Expected object')
  const result = await perform(binding, name, codec, params as Record<string, unknown>, request, reply)
  if (id === undefined) return reply.code(204).send()
  const before = `{"jsonrpc":"2.0","id":${id},"result":`
  if (!isStream(name, result)) {
    const encode = codec.encode[name] as (value: unknown) => unknown
    reply.type('application/json; charset=utf-8')
    return sendJson(binding.streams, reply, encode(result), before, '}')
  }
  binding.streams.add(reply.raw)
  const encode = (event: TaskEvent) => codec.encodeEvent(event)
  const stream = createEventStream(binding.surface, result, { encode, before, after: '}' })
  return reply.headers(SSE_HEADERS).send(stream)
}

function requireMethod(name: string, served: readonly ProtocolVersion[]): Method {
  const method = METHODS.get(name)
  if (method === undefined) throw new A2A_ERR_UNKNOWN_METHOD(quoteName(name))
  if (!served.includes(method.codec.version)) refuse(method.codec.version, served)
  return method
}

// Nobody waits for the answer to a notification.
function acknowledge(err: unknown, request: FastifyRequest, reply: FastifyReply) {
  takeFault(err, request, reply)
  return reply.code(204).send()
}

// Clients of that time read nothing else there.
function isLegacyStream(call: RpcCall | undefined, { headers }: FastifyRequest): boolean {
  return call?.method === OPERATIONS.subscribe.rpc['0.3'] && headers.accept === 'text/event-stream'
}

function isStream(name: OperationName, _result: unknown): _result is TaskStream {
  return (['stream', 'subscribe'] satisfies StreamingName[] as string[]).includes(name)
}
