import http, { frameworkErrors, type HttpOptions } from '@svc/http'
import registryPlugin, {
  createRegistry,
  type Registry,
  type RunEngine,
  type Runnable,
  type RunnableDefinition
} from '@svc/registry'
import Fastify, { type FastifyInstance, type FastifyServerOptions } from 'fastify'

/** What a test may ask for; everything has a default. */
export interface AppRequest {
  runnables?: (Runnable | RunnableDefinition)[]
  options?: HttpOptions
  fastify?: FastifyServerOptions
  engine?: { drainTimeout?: number }
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
  get(path: string, headers?: Record<string, string>): Promise<Response>
  /** Posts a string as it is, anything else as JSON. */
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
  return {
    app,
    registry,
    runs: app.runs,
    url,
    origin,
    get: (path, headers = {}) => fetch(url + path, { headers }),
    post: (path, body, headers = {}, signal) =>
      fetch(url + path, {
        method: 'POST',
        headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
        ...(body !== undefined && { body: isRaw(body) ? body : JSON.stringify(body) }),
        ...(signal && { signal })
      })
  }
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
