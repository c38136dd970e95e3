import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Agents } from '../service/agents.ts'
import type { OperationName } from '../model/requests.ts'
import { OPERATION_NAMES, OPERATIONS, splitRoute } from '../operations.ts'
import type { Codec } from '../wire/codec.ts'

/** What can be asked for below the name of an agent. */
type Asked = OperationName | 'card'

/** A path below the name of an agent, and what is asked for there. */
interface TenantPath<A extends Asked = Asked> {
  readonly tenant: string
  readonly asked: A
  /** What stands in the path where the route has a parameter. */
  readonly params: Readonly<Record<string, string>>
}

interface Pattern {
  readonly asked: Asked
  /** Undefined: any that the route takes. */
  readonly method?: string
  readonly path: RegExp
}

/** Where the card of an agent is, below its name. */
const CARD_PATH = '/.well-known/agent-card.json'

/**
 * The paths of a version below `/{tenant}`, which is the name of an agent. They are one wildcard below the base path, with a
 * constraint that only requests to an agent fulfil: every other finds the app's routes, and its 404, as they are without it.
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

  /** The constraint of the wildcard route that takes these. */
  only(kind: 'card' | 'operation'): Record<string, string> {
    return { [this.#constraint]: kind }
  }

  /** What a request asks for that such a route has taken. */
  of<A extends Asked>({ raw }: FastifyRequest): TenantPath<A> {
    return this.#found.get(raw) as TenantPath<A>
  }

  #kindOf(raw: FastifyRequest['raw']): 'card' | 'operation' | undefined {
    try {
      const found = this.#find(raw)
      if (found === undefined) return undefined
      this.#found.set(raw, found)
      return found.asked === 'card' ? 'card' : 'operation'
    } catch {
      // What a registry of the app's own throws would end the process here.
      return undefined
    }
  }

  // Every request of the app comes through here: what is not ours is seen by its first characters.
  #find({ method, url = '' }: FastifyRequest['raw']): TenantPath | undefined {
    if (!url.startsWith(this.#prefix)) return undefined
    const end = url.indexOf('/', this.#prefix.length)
    if (end === -1) return undefined
    const tenant = decode(url.slice(this.#prefix.length, end))
    if (tenant === undefined || this.#exposed.find(tenant) === undefined) return undefined
    const [path = ''] = url.slice(end).split('?', 1)
    // Some clients escape the colon before a verb.
    const plain = path.replaceAll(/%3a/gi, ':')
    for (const { asked, method: its = method, path: pattern } of this.#patterns) {
      const match = its === method ? pattern.exec(plain) : null
      if (match === null) continue
      const params = decodeAll(match.groups ?? {})
      return params && { tenant, asked, params }
    }
    return undefined
  }
}

function toPatterns({ version }: Codec): Pattern[] {
  const routes = OPERATION_NAMES.flatMap((asked) =>
    OPERATIONS[asked].rest[version].map((route) => {
      const [method, path] = splitRoute(route)
      return { asked, method, path: toPattern(path), hasVerb: path.includes('}:') }
    })
  )
  return [
    { asked: 'card', path: toPattern(CARD_PATH) },
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

// Several services in an app have each its own; the router wants an identifier.
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
