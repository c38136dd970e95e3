import a2a, { type A2aOptions } from '@svc/a2a'
import registryPlugin, {
  createRegistry,
  type RegistryPluginOptions,
  type RunnableDefinition,
  type RunEngine
} from '@svc/registry'
import Fastify, { type FastifyInstance, type FastifyServerOptions } from 'fastify'

/** The app of a test; everything has a default. */
export interface AppRequest {
  runnables?: RunnableDefinition[]
  options?: A2aOptions & { prefix?: string }
  fastify?: FastifyServerOptions
  engine?: RegistryPluginOptions
  /** Registers plugins before the registry. */
  before?(app: FastifyInstance): Promise<unknown>
}

/** A listening app, with a registry of its own. */
export interface TestApp {
  app: FastifyInstance
  runs: RunEngine
  /** The address, with the base path of the plugin. */
  url: string
  origin: string
  /** Sends a JSON-RPC request. */
  rpc(method: string, params?: unknown, headers?: Record<string, string>): Promise<RpcReply>
  /** The results of a stream. */
  stream(method: string, params: unknown, headers?: Record<string, string>): Promise<RpcReply[]>
}

/** A JSON-RPC response. */
export interface RpcReply {
  jsonrpc: string
  id: unknown
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into it by `match`
  result?: any
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into it by `match`
  error?: { code: number; message: string; data?: any }
}

/** Serves the plugin under `/a2a` on a free port until the test ends; results of tool calls are exposed. */
export async function buildApp(
  t: { teardown(fn: () => unknown): unknown },
  { runnables = [echo], options, fastify, engine, before }: AppRequest = {}
): Promise<TestApp> {
  const app: FastifyInstance = Fastify({ forceCloseConnections: true, ...fastify })
  await before?.(app)
  const registry = createRegistry()
  for (const runnable of runnables) registry.add(runnable)
  await app.register(registryPlugin, { registry, drainTimeout: 50, ...engine })
  const basePath = options?.basePath ?? '/a2a'
  await app.register(a2a, { exposeToolResults: true, ...options, basePath })
  const origin = await app.listen({ port: 0, host: '127.0.0.1' })
  t.teardown(() => app.close())
  const url = `${origin}${basePath}`
  let id = 0
  const send = (method: string, params: unknown, headers = {}) =>
    fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ jsonrpc: '2.0', id: ++id, method, params })
    })
  return {
    app,
    runs: app.runs,
    url,
    origin,
    async rpc(method, params, headers) {
      return (await (await send(method, params, headers)).json()) as RpcReply
    },
    async stream(method, params, headers) {
      return eventsOf(await (await send(method, params, headers)).text())
    }
  }
}

/** The JSON of each message of an event stream. */
export function eventsOf(text: string): RpcReply[] {
  return text
    .split('\n\n')
    .filter((message) => message.startsWith('data: '))
    .map((message) => JSON.parse(message.slice(6)) as RpcReply)
}

/** A user's message in the dialect of 0.3. */
export function say(text: string, fields: object = {}): { message: object } {
  return { message: { role: 'user', parts: [{ kind: 'text', text }], ...fields } }
}

/** A user's message in 1.0. */
export function sayV1(text: string, fields: object = {}): { message: object } {
  return { message: { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text }], ...fields } }
}

/** Takes every caller for the same one. */
export const anyone = async () => ({ sub: 'anyone', scopes: [] })

/** An agent that repeats its input. */
export const echo: RunnableDefinition = {
  kind: 'agent',
  name: 'echo',
  description: 'Says it again',
  async *stream(input) {
    yield { type: 'text', text: typeof input === 'string' ? input : JSON.stringify(input) }
  }
}
