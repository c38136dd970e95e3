import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import registryPlugin, {
  createRegistry,
  type Registry,
  type RegistryPluginOptions,
  type RunnableDefinition,
  type RunEngine
} from '@svc/registry'
import mcp, { type McpOptions } from '@svc/mcp'
import Fastify, { type FastifyInstance } from 'fastify'

/** The app of a test; everything has a default. */
export interface McpAppRequest {
  runnables?: readonly RunnableDefinition[]
  /** Adds agents, teams and workflows to the registry of the app. */
  add?(registry: Registry): unknown
  options?: McpOptions & { prefix?: string }
  engine?: RegistryPluginOptions
}

/** A listening app. */
export interface McpApp {
  app: FastifyInstance
  runs: RunEngine
  origin: string
  /** The address of the endpoint. */
  url: string
}

type Test = { teardown(fn: () => unknown): unknown }

/** The revisions that the server speaks. */
export const REVISIONS = ['2026-07-28', '2025-11-25'] as const
export type Revision = (typeof REVISIONS)[number]

/** Serves an endpoint on a free port until the test ends. */
export async function mcpApp(t: Test, request: McpAppRequest = {}): Promise<McpApp> {
  const { runnables = [], add, options, engine } = request
  const app: FastifyInstance = Fastify({ forceCloseConnections: true })
  const registry = createRegistry()
  for (const runnable of runnables) registry.add(runnable)
  add?.(registry)
  await app.register(registryPlugin, { registry, drainTimeout: 50, ...engine })
  await app.register(mcp, { ...options })
  const origin = await app.listen({ port: 0, host: '127.0.0.1' })
  t.teardown(() => app.close())
  return { app, runs: app.runs, origin, url: `${origin}${options?.prefix ?? ''}/mcp` }
}

/** How a client connects. */
export interface Connecting {
  revision?: Revision
  token?: string
  capabilities?: ConstructorParameters<typeof Client>[1] extends infer O
    ? O extends { capabilities?: infer C }
      ? C
      : never
    : never
  /** Called with the client before it connects. */
  prepare?(client: Client): unknown
}

/** Connects the official client, which closes when the test ends. */
export async function connect(
  t: Test,
  url: string,
  { revision = '2026-07-28', token, capabilities = {}, prepare }: Connecting = {}
): Promise<Client> {
  const mode = revision === '2026-07-28' ? { pin: revision } : 'legacy'
  const client = new Client(
    { name: 'test', version: '1.0.0' },
    { capabilities: capabilities as object, versionNegotiation: { mode } }
  )
  prepare?.(client)
  const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` }
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }))
  t.teardown(() => client.close())
  return client
}
