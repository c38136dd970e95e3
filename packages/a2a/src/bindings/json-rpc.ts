import { quoteName, sendJson, SSE_HEADERS } from '@svc/surface'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { A2A_ERR_BAD_REQUEST, A2A_ERR_UNKNOWN_METHOD, A2A_ERR_VERSION } from '../errors.ts'
import type { OperationName } from '../model/requests.ts'
import { isStreaming, OPERATION_NAMES, OPERATIONS } from '../operations.ts'
import type { TaskStream } from '../tasks/task-stream.ts'
import { codecFor, type BindingName } from '../wire/codec-for.ts'
import type { Codec } from '../wire/codec.ts'
import { badParams } from '../wire/decode-params.ts'
import { findVersion, PROTOCOL_VERSIONS, toDefaultVersion, type ProtocolVersion } from '../wire/versions.ts'
import type { AgentPaths } from './agent-paths.ts'
import { perform, takeFault, toOwnBinding, type Binding } from './binding.ts'
import { createEventStream, encodeData } from './event-stream.ts'

const NAME = 'a2a-version'

/** The version of a request, and the codec of its answer. */
export interface Negotiated {
  /** The version the request names. */
  readonly named: ProtocolVersion | undefined
  /** Of the named version, or of the default one. */
  readonly codec: Codec
  /** Set when the named version is not served. */
  readonly refusal: Error | undefined
}

/** Reads the version a request names, in its header or its query. */
export function negotiateVersion(
  { headers, query }: Pick<FastifyRequest, 'headers' | 'query'>,
  served: readonly ProtocolVersion[],
  binding: BindingName
): Negotiated {
  const text = textOf(headers[NAME]) || textOf((query as Record<string, unknown>)['A2A-Version'])
  const named = text === '' ? undefined : findVersion(text, served)
  const codec = codecFor(named ?? toDefaultVersion(served), binding)
  return { named, codec, refusal: text === '' || named !== undefined ? undefined : refusalOf(text, served) }
}

/** The error of a version that is not served: an A2A_ERR_VERSION. */
function refusalOf(named: string, served: readonly ProtocolVersion[]): Error {
  const supported = served.join(', ')
  return Object.assign(new A2A_ERR_VERSION(named.slice(0, 20).replaceAll(/[^\w.-]/g, '?'), supported), {
    metadata: { supportedVersions: supported }
  })
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value.trim() : ''
}

/** Characters of a request's id. */
const MAX_ID = 1024

/** A request of JSON-RPC 2.0. */
interface RpcCall {
  /** As JSON; undefined for a notification. */
  id: string | undefined
  method: string
  params: unknown
}

/** @throws A2A_ERR_BAD_REQUEST */
function readCall(body: unknown): RpcCall {
  if (Array.isArray(body)) throw new A2A_ERR_BAD_REQUEST('batches are not supported')
  if (typeof body !== 'object' || body === null) throw new A2A_ERR_BAD_REQUEST('the body must be an object')
  const { jsonrpc, id, method, params = {} } = body as Record<string, unknown>
  if (id !== undefined && id !== null && !isId(id))
    throw new A2A_ERR_BAD_REQUEST(`id must be a number, a string of up to ${MAX_ID} characters, or null`)
  const json = id === undefined ? undefined : JSON.stringify(id)
  if (jsonrpc !== '2.0') throw withId(json, new A2A_ERR_BAD_REQUEST('jsonrpc must be "2.0"'))
  if (typeof method !== 'string') throw withId(json, new A2A_ERR_BAD_REQUEST('method must be a string'))
  // Without an id, only a well-formed request is a notification.
  if (json === undefined && typeof params !== 'object')
    throw new A2A_ERR_BAD_REQUEST('params must be an object')
  return { id: json, method, params: params ?? {} }
}

// Every event of a stream repeats it; an infinite number would come back as null.
function isId(id: unknown): boolean {
  return typeof id === 'string' ? id.length <= MAX_ID : Number.isFinite(id)
}

/** The id of a refused request, as JSON. */
function idOf(err: unknown): string | undefined {
  return (err as { id?: string } | undefined)?.id
}

function withId(id: string | undefined, err: Error): Error {
  return Object.assign(err, { id })
}

interface Method {
  readonly name: OperationName
  readonly codec: Codec
}

const METHODS = new Map<string, Method>(
  OPERATION_NAMES.flatMap((name) =>
    PROTOCOL_VERSIONS.map((version) => [
      OPERATIONS[name].rpc[version],
      { name, codec: codecFor(version, 'rpc') }
    ])
  )
)

/** JSON-RPC 2.0: all versions on one path, with or without a slash at its end; the name of the method says which. */
export function rpcRoutes(scope: FastifyInstance, basePath: string, binding: Binding): void {
  const { ignoreTrailingSlash, routerOptions = {} } = scope.initialConfig
  const isOne = ignoreTrailingSlash === true || routerOptions.ignoreTrailingSlash === true
  for (const url of new Set([basePath || '/', isOne ? basePath || '/' : `${basePath}/`]))
    scope.post(url, (request, reply) => answerRpc(binding, request, reply))
}

/** JSON-RPC at the endpoint of each agent. */
export function agentRpcRoute(
  scope: FastifyInstance,
  basePath: string,
  binding: Binding,
  paths: AgentPaths
): void {
  scope.post(`${basePath}/*`, { constraints: paths.only('rpc') }, async (request, reply) =>
    answerRpc(await toOwnBinding(binding, paths.of(request).agent), request, reply)
  )
}

async function answerRpc(binding: Binding, request: FastifyRequest, reply: FastifyReply) {
  let id = 'null'
  let call: RpcCall | undefined
  const { versions } = binding
  const negotiated = negotiateVersion(request, versions, 'rpc')
  let { codec } = negotiated
  try {
    call = readCall(request.body)
    id = call.id ?? 'null'
    const known = METHODS.get(call.method)
    codec = known?.codec ?? codec
    // Before the method is looked up: it may be one of that version.
    if (negotiated.refusal !== undefined) throw negotiated.refusal
    const method = requireServed(call.method, known, versions)
    const result = await perform(binding, method.name, method.codec, readParams(call), request, reply)
    return call.id === undefined
      ? reply.code(204).send()
      : sendResult(binding, method, call.id, result, reply)
  } catch (err) {
    if (call !== undefined && call.id === undefined) return acknowledge(err, request, reply)
    return refuseRpc(err, codec, idOf(err) ?? id, request, reply, refusesAsStream(call, request))
  }
}

/** Answers with an error; `id` is JSON. */
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

function readParams({ params }: RpcCall): Record<string, unknown> {
  if (typeof params === 'object' && params !== null && !Array.isArray(params))
    return params as Record<string, unknown>
  throw badParams('', 'Expected object')
}

function sendResult(
  { surface, streams }: Binding,
  { name, codec }: Method,
  id: string,
  result: unknown,
  reply: FastifyReply
): FastifyReply | ReadableStream<string> {
  const before = `{"jsonrpc":"2.0","id":${id},"result":`
  if (!isStream(name, result)) {
    const encode = codec.encode[name] as (value: unknown) => unknown
    return sendJson(streams, reply, encode(result), before, '}')
  }
  streams.add(reply.raw)
  reply.headers(SSE_HEADERS)
  return createEventStream(surface, result, { encode: codec.encodeEvent, before, after: '}' })
}

function requireServed(name: string, method: Method | undefined, served: readonly ProtocolVersion[]): Method {
  if (method === undefined) throw new A2A_ERR_UNKNOWN_METHOD(quoteName(name))
  if (!served.includes(method.codec.version)) throw refusalOf(method.codec.version, served)
  return method
}

// A notification has no answer.
function acknowledge(err: unknown, request: FastifyRequest, reply: FastifyReply) {
  takeFault(err, request, reply)
  return reply.code(204).send()
}

function refusesAsStream(call: RpcCall | undefined, { headers }: FastifyRequest): boolean {
  const method = call && METHODS.get(call.method)
  if (method?.name !== 'subscribe' || !method.codec.streamsRefusals) return false
  return headers.accept === 'text/event-stream'
}

function isStream(name: OperationName, _result: unknown): _result is TaskStream {
  return isStreaming(name)
}
