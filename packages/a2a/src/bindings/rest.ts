import { sendJson, SSE_HEADERS } from '@svc/surface'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { AgentCard } from '../model/agent-card.ts'
import type { OperationName } from '../model/requests.ts'
import { isStreaming, OPERATION_NAMES, OPERATIONS, splitRoute } from '../operations.ts'
import type { TaskStream } from '../tasks/task-stream.ts'
import { codecFor } from '../wire/codec-for.ts'
import type { Codec } from '../wire/codec.ts'
import { badParams } from '../wire/decode-params.ts'
import type { AgentPaths } from './agent-paths.ts'
import { hasTagged, tagOf } from './entity-tags.ts'
import { perform, takeFault, toOwnBinding, type Binding } from './binding.ts'
import { createEventStream } from './event-stream.ts'
import { negotiateVersion } from './json-rpc.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Set on the routes of HTTP+JSON. */
    a2aCodec?: Codec
  }
}

/** HTTP+JSON: the routes of the operation table, for every served version. */
export function restRoutes(scope: FastifyInstance, basePath: string, binding: Binding): void {
  for (const name of OPERATION_NAMES) {
    for (const version of binding.versions) {
      const codec = codecFor(version, 'rest')
      for (const route of OPERATIONS[name].rest[version]) {
        const [method, path] = splitRoute(route)
        for (const url of toUrls(path))
          scope.route({
            method,
            url: basePath + url,
            exposeHeadRoute: false,
            config: { a2aCodec: codec },
            handler: (request, reply) => answer(binding, name, codec, toParams(request), request, reply)
          })
      }
    }
  }
}

/** The extended card beside the endpoint, for versions that look there. A path that is taken is left alone. */
export function extendedCardRoutes(scope: FastifyInstance, basePath: string, binding: Binding): void {
  const parent = basePath.slice(0, Math.max(0, basePath.lastIndexOf('/')))
  for (const version of binding.versions) {
    const codec = codecFor(version, 'rest')
    if (codec.extendedCardPath === undefined) continue
    const url = parent + codec.extendedCardPath
    if (scope.hasRoute({ method: 'GET', url: scope.prefix + url })) continue
    scope.get(url, { exposeHeadRoute: false, config: { a2aCodec: codec } }, (request, reply) =>
      answer(binding, 'extendedCard', codec, {}, request, reply)
    )
  }
}

/** The routes of every served version below the endpoint of each agent, and of versions with tenants below its name. */
export function agentRestRoutes(
  scope: FastifyInstance,
  basePath: string,
  binding: Binding,
  paths: AgentPaths
): void {
  for (const version of binding.versions) {
    const codec = codecFor(version, 'rest')
    scope.route({
      method: ['GET', 'POST', 'DELETE'],
      url: `${basePath}/*`,
      constraints: paths.only(version),
      exposeHeadRoute: false,
      config: { a2aCodec: codec },
      async handler(request, reply) {
        const { operation, agent, isOwn, params } = paths.of(request)
        return isOwn
          ? answer(await toOwnBinding(binding, agent), operation!, codec, params, request, reply)
          : answer(binding, operation!, codec, { ...params, tenant: agent }, request, reply)
      }
    })
  }
}

/** Answers with an error, in the version of the route. */
export function refuseRest(err: unknown, codec: Codec, request: FastifyRequest, reply: FastifyReply) {
  const fault = takeFault(err, request, reply)
  return withType(codec, request, reply.code(codec.restStatusOf(fault))).send(codec.encodeRestError(fault))
}

async function answer(
  binding: Binding,
  name: OperationName,
  codec: Codec,
  path: Readonly<Record<string, string>>,
  request: FastifyRequest,
  reply: FastifyReply
) {
  const { refusal } = negotiateVersion(request, binding.versions, 'rest')
  if (refusal !== undefined) throw refusal
  const result = await perform(binding, name, codec, readParams(request, path), request, reply)
  if (name === 'extendedCard')
    return sendExtendedCard(codec, codec.encode[name](result as AgentCard), request, reply)
  if (!isStreaming(name))
    return sendJson(
      binding.streams,
      withType(codec, request, reply),
      (codec.encode[name] as (value: unknown) => unknown)(result)
    )
  binding.streams.add(reply.raw)
  reply.headers(SSE_HEADERS)
  return createEventStream(binding.surface, result as TaskStream, { encode: codec.encodeEvent })
}

// For its caller alone, who asks each time whether it has changed. Section 13.3.
function sendExtendedCard(codec: Codec, card: unknown, request: FastifyRequest, reply: FastifyReply) {
  const json = JSON.stringify(card)
  const etag = tagOf(json)
  reply.headers({ etag, 'cache-control': 'private, no-cache', vary: 'A2A-Version, Accept, Authorization' })
  if (hasTagged(request, etag)) return reply.code(304).send()
  return withType(codec, request, reply).serializer(String).send(json)
}

// The path overrides the body; a POST has no query parameters.
function readParams(
  { method, body, query }: FastifyRequest,
  path: Readonly<Record<string, string>>
): Record<string, unknown> {
  if (body !== undefined && body !== null && (typeof body !== 'object' || Array.isArray(body)))
    throw badParams('', 'Expected object')
  const fields = method === 'POST' ? body : readQuery(query as Record<string, unknown>)
  const params = { ...(fields as Record<string, unknown>) }
  for (const [name, value] of Object.entries(path)) {
    // Moved to the end: of two spellings of a name, the last one counts.
    delete params[name]
    params[name] = value
  }
  return params
}

function toParams({ params }: FastifyRequest): Record<string, string> {
  const { colon: _, ...named } = params as Record<string, string>
  return named
}

function withType({ mediaType }: Codec, { headers }: FastifyRequest, reply: FastifyReply): FastifyReply {
  const isPlain = mediaType === undefined || asksForJsonAlone(headers.accept)
  return reply.type(isPlain ? 'application/json; charset=utf-8' : mediaType).serializer(JSON.stringify)
}

// Streams of events have a type of their own.
function asksForJsonAlone(accept = '*/*'): boolean {
  const types = accept.split(',').map((each) => each.split(';', 1)[0]!.trim().toLowerCase())
  return types.every((type) => type === 'application/json' || type === 'text/event-stream')
}

// In the router's syntax a colon begins a parameter, and a parameter ends at a slash. Some clients escape it as `%3A`.
function toUrls(path: string): string[] {
  const [, before = path, verb] = /^(.*):(\w+)$/.exec(path) ?? []
  if (verb === undefined) return [before.replaceAll(/\{(\w+)\}/g, ':$1')]
  if (before.includes('{')) return [`${before.replaceAll(/\{(\w+)\}/g, ':$1(^[^:]+)')}::${verb}`]
  // The router decodes parameters before it matches them, but no literal text.
  return [`${before}::${verb}`, `${before}:colon(:)${verb}`]
}

const FLAGS = new Set(['includeArtifacts', 'include_artifacts'])

/** The fields of a query, flags as booleans; any other value stays a text, for the schema to refuse. */
function readQuery(query: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const fields: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(query))
    fields[name] = FLAGS.has(name) && (value === 'true' || value === 'false') ? value === 'true' : value
  return fields
}
