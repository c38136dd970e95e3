import { hash } from 'node:crypto'
import { originOf, rootOf } from '@svc/surface'
import { setNewest, type Awaitable } from '@svc/contract'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { AgentPaths } from '../bindings/agent-paths.ts'
import type { Binding } from '../bindings/binding.ts'
import { hasTagged, tagOf } from '../bindings/entity-tags.ts'
import { negotiateVersion } from '../bindings/json-rpc.ts'
import { refuseRest } from '../bindings/rest.ts'
import type { Surface } from '../service/surface.ts'
import { toOwnSurface, toTenant } from '../service/tenant.ts'
import { encodeCard } from '../wire/encode-card.ts'
import type { AgentCard } from '../model/agent-card.ts'

/** Cards whose last change is known; one that is dropped counts as changed. */
const MAX_CARDS = 4_096
const SECOND = 1_000

/** When cards last changed, as far as this process has seen: for `Last-Modified`, which has whole seconds. */
class CardChanges {
  readonly #seen = new Map<string, { content: string; at: number }>()

  /** The time of the last change of a card, in milliseconds. Two changes have two times, so the second may be ahead of the clock. */
  timeOf(id: string, { urls: _, ...card }: AgentCard): number {
    // Where a request reaches the service is no content of the card.
    const content = hash('sha256', JSON.stringify(card), 'base64url')
    const known = this.#seen.get(id)
    if (known?.content === content) return known.at
    const at = Math.max(floor(Date.now()), known === undefined ? 0 : known.at + SECOND)
    setNewest(this.#seen, id, { content, at }, MAX_CARDS)
    return at
  }
}

function floor(time: number): number {
  return time - (time % SECOND)
}

/** The well-known paths of 0.2, and of 0.3 and later. */
const PATHS = ['/.well-known/agent.json', '/.well-known/agent-card.json']

/** A card to send: the service that it describes, and its name among those of the app. */
interface Described {
  readonly id: string
  readonly surface: Surface
}

/**
 * The agent card at the well-known paths of the root, and below the base path for clients that start there; the card of each agent, as
 * a tenant and at its own endpoint. Paths that are taken are left alone.
 */
export function cardRoutes(
  app: FastifyInstance,
  basePath: string,
  binding: Binding,
  paths: AgentPaths
): void {
  const changes = new CardChanges()
  const { surface } = binding
  const whole = () => ({ id: '', surface })
  // Well-known paths have no prefix.
  const root = rootOf(app)
  for (const path of PATHS) {
    for (const url of new Set([path, basePath + path])) {
      if (root.hasRoute({ method: 'GET', url })) continue
      root.get(url, (request, reply) => sendCard(binding, changes, whole, request, reply))
    }
  }
  const constraints = paths.only('card')
  root.get(`${basePath}/*`, { constraints }, (request, reply) =>
    sendCard(binding, changes, () => describeAgent(surface, paths, request), request, reply)
  )
}

async function describeAgent(
  surface: Surface,
  paths: AgentPaths,
  request: FastifyRequest
): Promise<Described> {
  const { agent, isOwn } = paths.of(request)
  return isOwn
    ? { id: `endpoint/${agent}`, surface: await toOwnSurface(surface, agent) }
    : { id: `tenant/${agent}`, surface: await toTenant(surface, agent) }
}

async function sendCard(
  binding: Binding,
  changes: CardChanges,
  describe: () => Awaitable<Described>,
  request: FastifyRequest,
  reply: FastifyReply
) {
  const { named, codec, refusal } = negotiateVersion(request, binding.versions, 'rest')
  try {
    if (refusal !== undefined) throw refusal
    const { id, surface } = await describe()
    const card = surface.buildCard(originOf(request))
    const unsigned = JSON.stringify(encodeCard(card, named))
    const json = surface.signer === undefined ? unsigned : await withSignatures(surface.signer, unsigned)
    const etag = tagOf(json)
    const changedAt = changes.timeOf(id, card)
    reply.headers({ etag, 'cache-control': 'public, max-age=60', vary: 'A2A-Version' })
    // RFC 9110, section 8.8.2.1: never later than now.
    if (changedAt <= Date.now()) reply.header('last-modified', new Date(changedAt).toUTCString())
    if (isUnchanged(request, etag, changedAt)) return await reply.code(304).send()
    return await reply.type('application/json; charset=utf-8').send(json)
  } catch (err) {
    return refuseRest(err, codec, request, reply)
  }
}

async function withSignatures(signer: NonNullable<Surface['signer']>, json: string): Promise<string> {
  return `${json.slice(0, -1)},"signatures":${JSON.stringify(await signer.sign(json))}}`
}

// RFC 9110, section 13.2.2: the date counts only without tags.
function isUnchanged(request: FastifyRequest, etag: string, changedAt: number): boolean {
  const since = request.headers['if-modified-since']
  return hasTagged(request, etag) ?? (since !== undefined && Date.parse(since) >= changedAt)
}
