import registryPlugin, {
  createRegistry,
  type Registry,
  type RegistryPluginOptions,
  type RunnableDefinition,
  type RunEngine
} from '@svc/registry'
import Fastify, { type FastifyInstance, type FastifyServerOptions } from 'fastify'

/** The app of a test; everything has a default. */
export interface AppRequest<WireOptions> {
  runnables?: readonly RunnableDefinition[]
  /** Adds agents, teams and workflows to the registry of the app. */
  add?(registry: Registry): unknown
  options?: WireOptions & { prefix?: string }
  engine?: RegistryPluginOptions
  fastify?: FastifyServerOptions
  /** Default: a free one. */
  port?: number
  /** Registers plugins before the registry. */
  before?(app: FastifyInstance): Promise<unknown>
  /** Registers plugins after the wire. */
  after?(app: FastifyInstance): Promise<unknown>
}

/** A listening app. */
export interface ServedApp {
  app: FastifyInstance
  runs: RunEngine
  origin: string
}

/** Serves an app with a wire until the test ends. */
export async function serveApp<WireOptions>(
  t: { teardown(fn: () => unknown): unknown },
  request: AppRequest<WireOptions>,
  register: (app: FastifyInstance, options: AppRequest<WireOptions>['options']) => PromiseLike<unknown>
): Promise<ServedApp> {
  const { runnables = [], add, options, engine, fastify, port = 0, before, after } = request
  const app: FastifyInstance = Fastify({ forceCloseConnections: true, ...fastify })
  await before?.(app)
  const registry = createRegistry()
  for (const runnable of runnables) registry.add(runnable)
  add?.(registry)
  await app.register(registryPlugin, { registry, drainTimeout: 50, ...engine })
  await register(app, options)
  await after?.(app)
  const origin = await app.listen({ port, host: '127.0.0.1' })
  t.teardown(() => app.close())
  return { app, runs: app.runs, origin }
}
