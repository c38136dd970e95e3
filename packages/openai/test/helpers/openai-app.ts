import openAi, { type OpenAiOptions } from '@svc/openai'
import registryPlugin, {
  createRegistry,
  type Principal,
  type Registry,
  type RegistryPluginOptions,
  type RunnableDefinition,
  type RunEngine
} from '@svc/registry'
import Fastify, { type FastifyInstance, type FastifyServerOptions } from 'fastify'
import OpenAI, { type ClientOptions } from 'openai'

/** The app of a test; everything has a default. */
export interface OpenAiAppRequest {
  runnables?: readonly RunnableDefinition[]
  /** Adds agents, teams and workflows to the registry of the app. */
  add?(registry: Registry): unknown
  options?: OpenAiOptions & { prefix?: string }
  engine?: RegistryPluginOptions
  fastify?: FastifyServerOptions
  /** Default: a free one. */
  port?: number
  /** Registers plugins before the registry. */
  before?(app: FastifyInstance): Promise<unknown>
}

/** A listening app. */
export interface OpenAiApp {
  app: FastifyInstance
  runs: RunEngine
  origin: string
  /** The API, under `/v1`. */
  baseURL: string
  /** A client of the API, with a key. */
  client(apiKey?: string, options?: ClientOptions): OpenAI
}

type Test = { teardown(fn: () => unknown): unknown }

/** Serves the API under `/v1` on a free port until the test ends. Clients may give instructions and tools. */
export async function openAiApp(t: Test, request: OpenAiAppRequest = {}): Promise<OpenAiApp> {
  const { runnables = [], add, options, engine, fastify, port = 0, before } = request
  const app: FastifyInstance = Fastify({ forceCloseConnections: true, ...fastify })
  await before?.(app)
  const registry = createRegistry()
  for (const runnable of runnables) registry.add(runnable)
  add?.(registry)
  await app.register(registryPlugin, { registry, drainTimeout: 50, ...engine })
  await app.register(openAi, { prefix: '/v1', clientTools: true, clientInstructions: true, ...options })
  const origin = await app.listen({ port, host: '127.0.0.1' })
  t.teardown(() => app.close())
  const baseURL = `${origin}/v1`
  const client = (apiKey = 'none', more: ClientOptions = {}) =>
    new OpenAI({ baseURL, apiKey, maxRetries: 0, ...more })
  return { app, runs: app.runs, origin, baseURL, client }
}

/** Anyone whose token is a name, also in a cookie. */
export function authenticate({
  cookies,
  token = cookies['token']
}: {
  token?: string
  cookies: Readonly<Record<string, string>>
}): Principal | null {
  if (token === undefined) return null
  if (token === 'bad') throw new Error('unknown')
  return { sub: token, scopes: [] }
}
