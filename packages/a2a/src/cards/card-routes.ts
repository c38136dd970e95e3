import { hash } from 'node:crypto'
import { rootOf } from '@svc/registry/kit'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { AgentPaths } from '../bindings/agent-paths.ts'
import type { Binding } from '../bindings/binding.ts'
import { negotiateVersion } from '../bindings/negotiate-version.ts'
import { refuseRest } from '../bindings/rest.ts'
import type { Surface } from '../service/surface.ts'
import { toOwnSurface, toTenant } from '../service/tenant.ts'
import { encodeCard } from '../wire/encode-card.ts'

/** The well-known paths of 0.2, and of 0.3 and later. */
const PATHS = ['/.well-known/agent.json', '/.well-known/agent-card.json']

/**
 * The agent card at the well-known paths of the root, and below the base path for clients that start there. Paths that are taken
 * are left alone.
 */
export function cardRoutes(app: FastifyInstance, basePath: string, binding: Binding): void {
  // Well-known paths have no prefix.
  const root = rootOf(app)
  for (const path of PATHS) {
    for (const url of new Set([path, basePath + path])) {
      if (root.hasRoute({ method: 'GET', url })) continue
      root.get(url, (request, reply) => sendCard(binding, request, reply))
    }
  }
}

/** The card of each agent, as a tenant and at its own endpoint. */
export function agentCardRoute(
  app: FastifyInstance,
  basePath: string,
  binding: Binding,
  paths: AgentPaths
): void {
  rootOf(app).get(`${basePath}/*`, { constraints: paths.only('card') }, (request, reply) =>
    sendCard(binding, request, reply, (surface) => {
      const { agent, isOwn } = paths.of(request)
      return isOwn ? toOwnSurface(surface, agent) : toTenant(surface, agent)
    })
  )
}

function sendCard(
  binding: Binding,
  request: FastifyRequest,
  reply: FastifyReply,
  narrow?: (surface: Surface) => Surface
) {
  const { named, codec, refusal } = negotiateVersion(request, binding.versions, 'rest')
  try {
    if (refusal !== undefined) throw refusal
    const surface = narrow === undefined ? binding.surface : narrow(binding.surface)
    const card = surface.buildCard(`${request.protocol}://${request.host}`)
    const json = JSON.stringify(encodeCard(card, named))
    const etag = `"${hash('sha256', json, 'base64url')}"`
    reply.headers({ etag, 'cache-control': 'public, max-age=60', vary: 'A2A-Version' })
    if (matches(request.headers['if-none-match'], etag)) return reply.code(304).send()
    return reply.type('application/json; charset=utf-8').send(json)
  } catch (err) {
    return refuseRest(err, codec, request, reply)
  }
}

function matches(given: string | undefined, etag: string): boolean {
  if (given === undefined) return false
  return given.split(',').some((each) => each.trim() === '*' || each.trim().replace(/^W\//, '') === etag)
}
