import console, { type ConsoleOptions } from '@svc/console'
import http, { type HttpOptions } from '@svc/http'
import registryPlugin, { createRegistry, type Registry, type RegistryPluginOptions } from '@svc/registry'
import Fastify, { type FastifyInstance } from 'fastify'

/** The app of a test; everything has a default. */
export interface ConsoleAppRequest {
  /** Adds agents, teams and workflows to the registry of the app. */
  add?(registry: Registry): unknown
  options?: ConsoleOptions & { prefix?: string }
  http?: HttpOptions & { prefix?: string }
  engine?: RegistryPluginOptions
  /** Default: a free one. */
  port?: number
  /** Registers plugins before the registry. */
  before?(app: FastifyInstance): Promise<unknown>
  /** Registers more surfaces. */
  after?(app: FastifyInstance): Promise<unknown>
}

/** A listening app with a console. */
export interface ConsoleApp {
  readonly app: FastifyInstance
  readonly origin: string
  /** The address of the page. */
  readonly page: string
}

type Test = { teardown(fn: () => unknown): unknown }

/** Serves the console at `/console` and its routes at `/api` on a free port until the test ends. */
export async function consoleApp(t: Test, request: ConsoleAppRequest = {}): Promise<ConsoleApp> {
  const { add, options, engine, port = 0, before, after } = request
  const app: FastifyInstance = Fastify({ forceCloseConnections: true })
  await before?.(app)
  const registry = createRegistry()
  add?.(registry)
  await app.register(registryPlugin, { registry, drainTimeout: 50, ...engine })
  await app.register(http, { prefix: '/api', ...request.http })
  await after?.(app)
  const prefix = options?.prefix ?? '/console'
  await app.register(console, { prefix, ...options })
  const origin = await app.listen({ port, host: '127.0.0.1' })
  t.teardown(() => app.close())
  return { app, origin, page: `${origin}${prefix}/` }
}
