import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { OperationName } from '../model/requests.ts'
import { OPERATION_NAMES, OPERATIONS, splitRoute } from '../operations.ts'
import type { Agents } from '../service/agents.ts'
import { codecFor } from '../wire/codec-for.ts'
import type { ProtocolVersion } from '../wire/versions.ts'

/** What serves a path: the card, JSON-RPC, files, or HTTP+JSON of a version. */
export type Part = 'card' | 'rpc' | 'file' | ProtocolVersion

/** A path that names one agent of several. */
export interface AgentPath {
  readonly agent: string
  /** True below the agent's own endpoint; false where the agent is a tenant of the service's. */
  readonly isOwn: boolean
  readonly part: Part
  /** The operation, on paths of HTTP+JSON. */
  readonly operation?: OperationName
  /** The path's values of the route's parameters. */
  readonly params: Readonly<Record<string, string>>
}

interface Pattern {
  readonly part: Part
  readonly operation?: OperationName
  /** Undefined: any method of the route. */
  readonly method?: string
  readonly path: RegExp
}

/** Paths that begin with the same text, followed by the name of an agent. */
interface Place {
  readonly prefix: string
  readonly isOwn: boolean
  readonly patterns: readonly Pattern[]
}

/** The base path with the prefixes of the app, the path of the agents' own endpoints below it, and the served versions. */
export interface Served {
  readonly path: string
  readonly agentPath: string
  readonly versions: readonly ProtocolVersion[]
}

const CARD = '/.well-known/agent-card.json'
/** The card's path in 0.2. */
const OLD_CARD = '/.well-known/agent.json'

/**
 * The paths that name one agent: its own endpoint with everything below it, and, of versions that have tenants, `/{tenant}/…`. They
 * are wildcard routes below the base path, with a constraint that only requests to an agent meet: other requests reach the app's
 * routes, and its 404, unchanged.
 * @see https://github.com/a2aproject/A2A/blob/main/specification/a2a.proto its additional bindings
 */
export class AgentPaths {
  readonly #prefix: string
  readonly #places: readonly Place[]
  readonly #exposed: Pick<Agents, 'find'>
  readonly #constraint: string
  readonly #found = new WeakMap<object, AgentPath>()

  constructor(app: FastifyInstance, served: Served, exposed: Pick<Agents, 'find'>) {
    this.#prefix = `${served.path}/`
    this.#places = toPlaces(served)
    this.#exposed = exposed
    this.#constraint = unusedName(app)
    app.addConstraintStrategy({
      name: this.#constraint,
      storage: createStorage,
      deriveConstraint: (raw) => this.#partOf(raw)
    })
  }

  /** The constraint of the wildcard route of a part. */
  only(part: Part): Record<string, string> {
    return { [this.#constraint]: part }
  }

  /** The path of a request on such a route. */
  of({ raw }: FastifyRequest): AgentPath {
    return this.#found.get(raw)!
  }

  #partOf(raw: FastifyRequest['raw']): Part | undefined {
    try {
      const found = this.#find(raw)
      if (found === undefined) return undefined
      this.#found.set(raw, found)
      return found.part
    } catch {
      // Throwing in the router would end the process; a registry of the app's own may throw.
      return undefined
    }
  }

  // Called for every request of the app, so others are ruled out by their first characters.
  #find({ method, url = '' }: FastifyRequest['raw']): AgentPath | undefined {
    if (!url.startsWith(this.#prefix)) return undefined
    for (const place of this.#places) {
      const found = url.startsWith(place.prefix) ? this.#findIn(place, method, url) : undefined
      if (found !== undefined) return found
    }
    return undefined
  }

  #findIn(
    { prefix, isOwn, patterns }: Place,
    method: string | undefined,
    url: string
  ): AgentPath | undefined {
    const end = endOfSegment(url, prefix.length)
    // Below the base path itself, a name without a path is one of the app's.
    if (end === url.length && !isOwn) return undefined
    const agent = decode(url.slice(prefix.length, end))
    // A look-up that takes time counts as found: the endpoint itself refuses a name that it does not find.
    if (agent === undefined || this.#exposed.find(agent) === undefined) return undefined
    const [path = ''] = url.slice(end).split('?', 1)
    // Some clients escape the colon of a verb.
    const plain = path.replaceAll(/%3a/gi, ':')
    for (const { part, operation, method: its = method, path: pattern } of patterns) {
      const match = its === method ? pattern.exec(plain) : null
      if (match === null) continue
      const params = decodeAll(match.groups ?? {})
      return params && { agent, isOwn, part, ...(operation && { operation }), params }
    }
    return undefined
  }
}

function toPlaces({ path, agentPath, versions }: Served): Place[] {
  const own: Pattern[] = [
    { part: 'rpc', method: 'POST', path: /^\/?$/ },
    { part: 'card', path: toPattern(CARD) },
    { part: 'card', path: toPattern(OLD_CARD) },
    { part: 'file', path: toPattern('/tasks/{taskId}/files/{fileId}') },
    ...versions.flatMap(toPatterns)
  ]
  const tenants = versions.filter((version) => codecFor(version, 'rest').hasTenants)
  return [
    { prefix: `${path}${agentPath}/`, isOwn: true, patterns: own },
    // Where the client of Mastra looks for the card.
    {
      prefix: `${path}/.well-known/`,
      isOwn: true,
      patterns: [{ part: 'card', path: toPattern('/agent-card.json') }]
    },
    {
      prefix: `${path}/`,
      isOwn: false,
      patterns:
        tenants.length === 0 ? [] : [{ part: 'card', path: toPattern(CARD) }, ...tenants.flatMap(toPatterns)]
    }
  ]
}

function toPatterns(part: ProtocolVersion): Pattern[] {
  const routes = OPERATION_NAMES.flatMap((operation) =>
    OPERATIONS[operation].rest[part].map((route) => {
      const [method, path] = splitRoute(route)
      return { part, operation, method, path: toPattern(path), hasVerb: path.includes('}:') }
    })
  )
  // Those with a verb first: before it, an id has no colon.
  return [...routes.filter(({ hasVerb }) => hasVerb), ...routes.filter(({ hasVerb }) => !hasVerb)]
}

function endOfSegment(url: string, from: number): number {
  for (let at = from; at < url.length; at++) {
    const character = url[at]
    if (character === '/' || character === '?') return at
  }
  return url.length
}

function decodeAll(texts: Readonly<Record<string, string>>): Record<string, string> | undefined {
  const values: Record<string, string> = {}
  for (const [name, text] of Object.entries(texts)) {
    const value = decode(text)
    if (value === undefined) return undefined
    values[name] = value
  }
  return values
}

function decode(text: string): string | undefined {
  if (!text.includes('%')) return text
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

function toPattern(path: string): RegExp {
  const source = path
    .replaceAll('.', String.raw`\.`)
    .replaceAll(/\{(\w+)\}(?=:)/g, '(?<$1>[^/:]+)')
    .replaceAll(/\{(\w+)\}/g, '(?<$1>[^/]+)')
  return new RegExp(`^${source}$`)
}

// Each service of an app needs its own; the router accepts identifiers only.
function unusedName(app: FastifyInstance): string {
  let name = 'a2aAgent'
  for (let count = 2; app.hasConstraintStrategy(name); count++) name = `a2aAgent${count}`
  return name
}

function createStorage<Handler>() {
  const handlers = new Map<unknown, Handler>()
  return {
    get: (value: unknown) => handlers.get(value) ?? null,
    set: (value: unknown, handler: Handler) => void handlers.set(value, handler)
  }
}
