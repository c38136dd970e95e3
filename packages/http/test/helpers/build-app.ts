import http, { frameworkErrors, generateOpenApi, type HttpOptions, type OpenApiDocument } from '@svc/http'
import registryPlugin, {
  createRegistry,
  type Registry,
  type RegistryPluginOptions,
  type RunEngine,
  type Runnable,
  type RunnableDefinition
} from '@svc/registry'
import Fastify, { type FastifyInstance, type FastifyServerOptions } from 'fastify'
import { responseValidatorOf } from './validate-response.ts'

/** What a test may ask for; everything has a default. */
export interface AppRequest {
  runnables?: (Runnable | RunnableDefinition)[]
  options?: HttpOptions
  fastify?: FastifyServerOptions
  engine?: Omit<RegistryPluginOptions, 'registry'>
  /** Whether the app lets the plugin answer URLs that Fastify refuses; default true. */
  handsOverBadUrls?: boolean
  /** Runs on the app before the plugin is registered. */
  before?: (app: FastifyInstance) => unknown
}

/** A served app, with a registry of its own. */
export interface TestApp {
  app: FastifyInstance
  registry: Registry
  runs: RunEngine
  /** The address, with the prefix of the plugin. */
  url: string
  /** The address without it. */
  origin: string
  /** Makes sure that an answer in JSON, to a path under the prefix, is as the document of this app says. */
  check(method: string, path: string, responding: Promise<Response>): Promise<Response>
  /** Gets, and makes sure that an answer in JSON is as the document says. */
  get(path: string, headers?: Record<string, string>): Promise<Response>
  /** Posts a string as it is, anything else as JSON; the answer is checked like that of `get`. */
  post(
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
    signal?: AbortSignal
  ): Promise<Response>
}

/** Serves the plugin under `/api` on a free port until the test ends. */
export async function buildApp(
  t: { teardown(fn: () => unknown): unknown },
  { runnables = [], options, fastify, engine, handsOverBadUrls = true, before }: AppRequest = {}
): Promise<TestApp> {
  const app: FastifyInstance = Fastify({
    ...(handsOverBadUrls && { frameworkErrors }),
    forceCloseConnections: true,
    ...fastify
  })
  const registry = createRegistry()
  for (const runnable of runnables) registry.add(runnable)
  await before?.(app)
  await app.register(registryPlugin, { registry, drainTimeout: 50, ...engine })
  await app.register(http, { prefix: '/api', ...options })
  const origin = await app.listen({ port: 0, host: '127.0.0.1' })
  t.teardown(() => app.close())
  const url = `${origin}/api`
  const check = handsOverBadUrls ? checkerOf(options) : unchecked
  return {
    app,
    registry,
    runs: app.runs,
    url,
    origin,
    check,
    get: (path, headers = {}) => check('GET', path, fetch(url + path, { headers })),
    post: (path, body, headers = {}, signal) =>
      check(
        'POST',
        path,
        fetch(url + path, {
          method: 'POST',
          headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
          ...(body !== undefined && { body: isRaw(body) ? body : JSON.stringify(body) }),
          ...(signal && { signal })
        })
      )
  }
}

const plain = describe({})

// Streams are left alone: a copy of one would change how it is read. So are paths that are no operation.
function checkerOf(options: HttpOptions = {}): TestApp['check'] {
  const described = Object.keys(options).length === 0 ? plain : describe(options)
  return async (method, path, responding) => {
    const response = await responding
    const contentType = response.headers.get('content-type')
    if (contentType?.startsWith('text/')) return response
    const validator = responseValidatorOf(await described())
    if (validator.find(method, path) === undefined) return response
    const body = await response.clone().text()
    const faults = validator.faultsOf({ method, path, status: response.status, contentType, body })
    if (faults.length > 0) throw new Error(`${method} ${path}: ${faults.join('; ')}\n${body}`)
    return response
  }
}

// Made when the first answer is checked.
function describe(options: HttpOptions): () => Promise<OpenApiDocument> {
  let document: Promise<OpenApiDocument> | undefined
  return () => (document ??= generateOpenApi({ ...options, registry: false }))
}

function unchecked(_method: string, _path: string, responding: Promise<Response>): Promise<Response> {
  return responding
}

/** An agent that says its input again. */
export const echo: RunnableDefinition = {
  kind: 'agent',
  name: 'echo',
  description: 'Says it again',
  async *stream(input) {
    yield { type: 'text', text: String(input) }
  }
}

function isRaw(body: unknown): body is string | Uint8Array<ArrayBuffer> {
  return typeof body === 'string' || body instanceof Uint8Array
}
