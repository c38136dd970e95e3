import registryPlugin, {
  createRegistry,
  type Registry,
  type RegistryPluginOptions,
  type RunnableDefinition,
  type RunEngine
} from '@svc/registry'
import uiStream, { type UiStreamOptions } from '@svc/ui-stream'
import Fastify, { type FastifyInstance, type FastifyServerOptions } from 'fastify'

/** The app of a test; everything has a default. */
export interface ChatAppRequest {
  runnables?: readonly RunnableDefinition[]
  /** Adds agents, teams and workflows to the registry of the app. */
  add?(registry: Registry): unknown
  options?: UiStreamOptions & { prefix?: string }
  engine?: RegistryPluginOptions
  fastify?: FastifyServerOptions
  /** Default: a free one. */
  port?: number
  /** Registers plugins before the registry. */
  before?(app: FastifyInstance): Promise<unknown>
  /** Registers plugins after the chats. */
  after?(app: FastifyInstance): Promise<unknown>
}

/** A listening app. */
export interface ChatApp {
  app: FastifyInstance
  runs: RunEngine
  origin: string
  /** The address of the chats of an agent, or of another kind: `team/crew`. */
  api(name: string): string
}

type Test = { teardown(fn: () => unknown): unknown }

/** Serves chats under `/api` on a free port until the test ends. */
export async function chatApp(t: Test, request: ChatAppRequest = {}): Promise<ChatApp> {
  const { runnables = [], add, options, engine, fastify, port = 0, before, after } = request
  const app: FastifyInstance = Fastify({ forceCloseConnections: true, ...fastify })
  await before?.(app)
  const registry = createRegistry()
  for (const runnable of runnables) registry.add(runnable)
  add?.(registry)
  await app.register(registryPlugin, { registry, drainTimeout: 50, ...engine })
  await app.register(uiStream, { prefix: '/api', ...options })
  await after?.(app)
  const origin = await app.listen({ port, host: '127.0.0.1' })
  t.teardown(() => app.close())
  return { app, runs: app.runs, origin, api: (name) => `${origin}/api/chat/${name}` }
}
