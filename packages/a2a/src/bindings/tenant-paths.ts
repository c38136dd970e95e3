import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { OperationName } from '../model/requests.ts'
import { OPERATION_NAMES, OPERATIONS, splitRoute } from '../operations.ts'
import type { Agents } from '../service/agents.ts'
import type { Codec } from '../wire/codec.ts'

/** What a path below the name of an agent names. */
type Target = OperationName | 'card'

/** A path below the name of an agent. */
interface TenantPath<T extends Target = Target> {
  readonly tenant: string
  readonly target: T
  /** The path's values of the route's parameters. */
  readonly params: Readonly<Record<string, string>>
}

interface Pattern {
  readonly target: Target
  /** Undefined: any method of the route. */
  readonly method?: string
  readonly path: RegExp
}

/** The path of an agent's card, below its name. */
const CARD_PATH = '/.well-known/agent-card.json'

/**
 * The paths of a version below `/{tenant}`, which is the name of an agent. They are one wildcard route below the base path,
 * with a constraint that only requests to an agent meet: other requests reach the app's routes, and its 404, unchanged.
 * @see https://github.com/a2aproject/A2A/blob/main/specification/a2a.proto its additional bindings
 */
export class TenantPaths {
  readonly codec: Codec
  readonly #prefix: string
  readonly #patterns: readonly Pattern[]
  readonly #exposed: Pick<Agents, 'find'>
  readonly #constraint: string
  readonly #found = new WeakMap<object, TenantPath>()

  /** `path` is the base path with the prefixes of the app. */
  constructor(app: FastifyInstance, path: string, exposed: Pick<Agents, 'find'>, codec: Codec) {
    this.codec = codec
    this.#patterns = toPatterns(codec)
    this.#prefix = `${path}/`
    this.#exposed = exposed
    this.#constraint = unusedName(app)
    app.addConstraintStrategy({
      name: this.#constraint,
      storage: createStorage,
      deriveConstraint: (raw) => this.#kindOf(raw)
    })
  }

  /** The constraint of a wildcard route for cards or operations. */
  only(kind: 'card' | 'operation'): Record<string, string> {
    return { [this.#constraint]: kind }
  }

  /** The path of a request on such a route. */
  of<T extends Target>({ raw }: FastifyRequest): TenantPath<T> {
    return this.#found.get(raw) as TenantPath<T>
  }

  #kindOf(raw: FastifyRequest['raw']): 'card' | 'operation' | undefined {
    try {
      const found = this.#find(raw)
      if (found === undefined) return undefined
      this.#found.set(raw, found)
      return found.target === 'card' ? 'card' : 'operation'
    } catch {
      // Throwing in the router would end the process; a registry of the app's own may throw.
      return undefined
    }
  }

  // Called for every request of the app, so others are ruled out by their first characters.
  #find({ method, url = '' }: FastifyRequest['raw']): TenantPath | undefined {
    if (!url.startsWith(this.#prefix)) return undefined
    const end = url.indexOf('/', this.#prefix.length)
    if (end === -1) return undefined
    const tenant = decode(url.slice(this.#prefix.length, end))
    if (tenant === undefined || this.#exposed.find(tenant) === undefined) return undefined
    const [path = ''] = url.slice(end).split('?', 1)
    // Some clients escape the colon of a verb.
    const plain = path.replaceAll(/%3a/gi, ':')
    for (const { target, method: its = method, path: pattern } of this.#patterns) {
      const match = its === method ? pattern.exec(plain) : null
      if (match === null) continue
      const params = decodeAll(match.groups ?? {})
      return params && { tenant, target, params }
    }
    return undefined
  }
}

function toPatterns({ version }: Codec): Pattern[] {
  const routes = OPERATION_NAMES.flatMap((target) =>
    OPERATIONS[target].rest[version].map((route) => {
      const [method, path] = splitRoute(route)
      return { target, method, path: toPattern(path), hasVerb: path.includes('}:') }
    })
  )
  return [
    { target: 'card', path: toPattern(CARD_PATH) },
    // Those with a verb first: before it, an id has no colon.
    ...routes.filter(({ hasVerb }) => hasVerb),
    ...routes.filter(({ hasVerb }) => !hasVerb)
  ]
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
  let name = 'a2aTenant'
  for (let count = 2; app.hasConstraintStrategy(name); count++) name = `a2aTenant${count}`
  return name
}

function createStorage<Handler>() {
  const handlers = new Map<unknown, Handler>()
  return {
    get: (value: unknown) => handlers.get(value) ?? null,
    set: (value: unknown, handler: Handler) => void handlers.set(value, handler)
  }
}
