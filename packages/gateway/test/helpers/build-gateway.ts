import { once } from 'node:events'
import gateway, {
  type ClientToServerEvents,
  type GatewayOptions,
  type ServerToClientEvents
} from '@svc/gateway'
import http, { type HttpOptions } from '@svc/http'
import registryPlugin, {
  createRegistry,
  type Registry,
  type RegistryPluginOptions,
  type RunEngine,
  type Runnable,
  type RunnableDefinition
} from '@svc/registry'
import Fastify, { type FastifyInstance, type FastifyServerOptions } from 'fastify'
import { io, type ManagerOptions, type Socket, type SocketOptions } from 'socket.io-client'

/** What a test may ask for; everything has a default. */
export interface GatewayRequest {
  runnables?: readonly (Runnable | RunnableDefinition)[]
  options?: GatewayOptions
  /** Serves HTTP too, under `/api`. */
  http?: HttpOptions
  fastify?: FastifyServerOptions
  engine?: Omit<RegistryPluginOptions, 'registry'>
  /** Runs on the app before the plugins are registered. */
  before?: (app: FastifyInstance) => unknown
}

export type Client = Socket<ServerToClientEvents, ClientToServerEvents>
type ClientOptions = Partial<ManagerOptions & SocketOptions>

/** A served gateway, with a registry of its own. */
export interface TestGateway {
  app: FastifyInstance
  registry: Registry
  runs: RunEngine
  origin: string
  /** A client of its own connection, that does not come back by itself; connected when this resolves. */
  connect(options?: ClientOptions): Promise<Client>
  /** The same, for one that may be refused. */
  open(options?: ClientOptions): Client
}

type Test = { teardown(fn: () => unknown): unknown }

/** Serves the gateway on a free port until the test ends. */
export async function buildGateway(t: Test, request: GatewayRequest = {}): Promise<TestGateway> {
  const { runnables = [], options, fastify, engine, before } = request
  const app: FastifyInstance = Fastify({ forceCloseConnections: true, ...fastify })
  const registry = createRegistry()
  for (const runnable of runnables) registry.add(runnable)
  await before?.(app)
  await app.register(registryPlugin, { registry, drainTimeout: 50, ...engine })
  if (request.http !== undefined) await app.register(http, { prefix: '/api', ...request.http })
  await app.register(gateway, options ?? {})
  const origin = await app.listen({ port: 0, host: '127.0.0.1' })
  t.teardown(() => app.close())
  const namespace = options?.namespace ?? ''

  const open = (more: ClientOptions = {}): Client => {
    const client: Client = io(origin + namespace, {
      transports: ['websocket'],
      forceNew: true,
      reconnection: false,
      ...more
    })
    t.teardown(() => client.disconnect())
    return client
  }
  return {
    app,
    registry,
    runs: app.runs,
    origin,
    open,
    async connect(more) {
      const client = open(more)
      const refused = new Promise<never>((_, reject) => client.once('connect_error', reject))
      await Promise.race([new Promise<void>((resolve) => client.once('connect', resolve)), refused])
      return client
    }
  }
}

/** An event as it came: its name and payload. */
export interface Received {
  event: string
  runId: string
  seq: number
  [field: string]: unknown
}

/** Everything that a client is sent from now on. */
export class Inbox {
  readonly all: Received[] = []
  #onNews: (() => void) | undefined

  constructor(client: Client) {
    client.onAny((event: string, payload: object) => {
      this.all.push({ event, ...payload } as Received)
      this.#onNews?.()
    })
  }

  of(runId: string): Received[] {
    return this.all.filter((each) => each.runId === runId)
  }

  /** What came of a run, once it has ended. */
  async untilEnd(runId: string): Promise<Received[]> {
    await this.until(() => this.of(runId).some(({ event }) => /^[a-z]+\.(?:done|error)$/.test(event)))
    return this.of(runId)
  }

  /** The first event of a name, once it is there. */
  async first(event: string): Promise<Received> {
    await this.until(() => this.all.some((each) => each.event === event))
    return this.all.find((each) => each.event === event)!
  }

  async until(isTrue: () => boolean): Promise<void> {
    while (!isTrue()) await new Promise<void>((resolve) => (this.#onNews = resolve))
  }
}

/** What the chunks of a run say. */
export function textOf(events: readonly Received[]): string {
  return events.map(({ event, chunk }) => (event.endsWith('.chunk') ? String(chunk) : '')).join('')
}

/** Resolves when a client is disconnected, with the reason. */
export async function untilDisconnected(client: Client): Promise<string> {
  const [reason] = (await once(client as never, 'disconnect')) as [string]
  return reason
}

/** An agent that says its input again. */
export const echo: RunnableDefinition = {
  kind: 'agent',
  name: 'echo',
  async *stream(input) {
    yield { type: 'text', text: String(input) }
  }
}
