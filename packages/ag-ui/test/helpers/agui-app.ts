import registryPlugin, {
  createRegistry,
  type Registry,
  type RegistryPluginOptions,
  type RunnableDefinition,
  type RunEngine
} from '@svc/registry'
import agUi, { type AgUiOptions } from '@svc/ag-ui'
import Fastify, { type FastifyInstance, type FastifyServerOptions } from 'fastify'

/** The app of a test; everything has a default. */
export interface AgUiAppRequest {
  runnables?: readonly RunnableDefinition[]
  /** Adds agents, teams and workflows to the registry of the app. */
  add?(registry: Registry): unknown
  options?: AgUiOptions & { prefix?: string }
  engine?: RegistryPluginOptions
  fastify?: FastifyServerOptions
  /** Default: a free one. */
  port?: number
  /** Registers plugins before the registry. */
  before?(app: FastifyInstance): Promise<unknown>
}

/** A listening app. */
export interface AgUiApp {
  app: FastifyInstance
  runs: RunEngine
  origin: string
  /** The address of an agent, or of another kind: `team/crew`. */
  url(name: string): string
}

type Test = { teardown(fn: () => unknown): unknown }

/** Serves AG-UI under `/api` on a free port until the test ends. */
export async function agUiApp(t: Test, request: AgUiAppRequest = {}): Promise<AgUiApp> {
  const { runnables = [], add, options, engine, fastify, port = 0, before } = request
  const app: FastifyInstance = Fastify({ forceCloseConnections: true, ...fastify })
  await before?.(app)
  const registry = createRegistry()
  for (const runnable of runnables) registry.add(runnable)
  add?.(registry)
  await app.register(registryPlugin, { registry, drainTimeout: 50, ...engine })
  await app.register(agUi, { prefix: '/api', ...options })
  const origin = await app.listen({ port, host: '127.0.0.1' })
  t.teardown(() => app.close())
  return { app, runs: app.runs, origin, url: (name) => `${origin}/api/ag-ui/${name}` }
}
