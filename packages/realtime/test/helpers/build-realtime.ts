import type { IncomingHttpHeaders } from 'node:http'
import { json } from 'node:stream/consumers'
import http, { type HttpOptions } from '@svc/http'
import realtime, { type ClientEvent, type RealtimeOptions, type ServerEvent } from '@svc/realtime'
import registryPlugin, {
  createRegistry,
  type Registry,
  type RegistryPluginOptions,
  type RunEngine,
  type Runnable
} from '@svc/registry'
import { scriptedVoice } from '@svc/testing'
import Fastify, { type FastifyInstance, type FastifyServerOptions } from 'fastify'
import { WebSocket, type ClientOptions } from 'ws'
import { createDesk, type Desk } from './desk-voice.ts'

/** What a test may ask for; everything has a default. */
export interface RealtimeRequest {
  /** Default: a parrot named `voice`. */
  runnables?: readonly Runnable[]
  options?: RealtimeOptions
  engine?: Omit<RegistryPluginOptions, 'registry'>
  /** Serves HTTP too, under `/api`. */
  http?: HttpOptions
  fastify?: FastifyServerOptions & { https?: object }
  /** Runs on the app before and after the plugin is registered. */
  before?: (app: FastifyInstance) => unknown
  after?: (app: FastifyInstance) => unknown
}

/** A client of the protocol, without a library. */
export interface TestSocket {
  ws: WebSocket
  events: ServerEvent[]
  /** Also before the WebSocket is open. */
  send(event: ClientEvent): void
  /** The next event of a type that was not returned yet, once it is there. */
  next<T extends ServerEvent['type']>(type: T): Promise<Extract<ServerEvent, { type: T }>>
  closed: Promise<{ code: number; reason: string }>
  /** The response to a handshake that was refused. */
  refusal: Promise<{ status: number; headers: IncomingHttpHeaders; body: unknown }>
}

export interface TestRealtime {
  app: FastifyInstance
  registry: Registry
  runs: RunEngine
  /** `127.0.0.1:port` */
  host: string
  /** Opens a WebSocket; `query` is what follows the path. */
  open(query?: string, options?: ClientOptions & { protocols?: string[] }): TestSocket
  /** The same, and its call begins at once. */
  call: TestRealtime['open']
}

type Test = { teardown(fn: () => unknown): unknown }

/** Serves voice agents under `/v1` on a free port until the test ends. */
export async function buildRealtime(t: Test, request: RealtimeRequest = {}): Promise<TestRealtime> {
  const { runnables = [scriptedVoice()], options, engine, fastify, before, after } = request
  const app = Fastify({ forceCloseConnections: true, ...fastify } as FastifyServerOptions) as FastifyInstance
  const registry = createRegistry()
  for (const runnable of runnables) registry.add(runnable)
  await app.register(registryPlugin, { registry, drainTimeout: 50, ...engine })
  await before?.(app)
  if (request.http !== undefined) await app.register(http, { prefix: '/api', ...request.http })
  await app.register(realtime, { prefix: '/v1', ...options })
  await after?.(app)
  const origin = await app.listen({ port: 0, host: '127.0.0.1' })
  t.teardown(() => app.close())
  const { host } = new URL(origin)
  const open: TestRealtime['open'] = (query = '?model=voice', { protocols, ...more } = {}) => {
    const ws = new WebSocket(`ws://${host}/v1/realtime${query}`, protocols ?? [], more)
    t.teardown(() => ws.terminate())
    return toTestSocket(ws)
  }
  return {
    app,
    registry,
    runs: app.runs,
    host,
    open,
    call(query, more) {
      const client = open(query, more)
      client.send({ type: 'session.update', session: { output_modalities: ['audio'] } })
      return client
    }
  }
}

/** Serves a desk, and opens a WebSocket to it. */
export async function openDesk(
  t: Test,
  { desk = createDesk(), ...request }: Omit<RealtimeRequest, 'runnables'> & { desk?: Desk } = {}
): Promise<TestRealtime & { desk: Desk; client: TestSocket }> {
  const service = await buildRealtime(t, { ...request, runnables: [desk.voice] })
  return { ...service, desk, client: service.open('?model=desk') }
}

function toTestSocket(ws: WebSocket): TestSocket {
  const events: ServerEvent[] = []
  const taken = new Set<ServerEvent>()
  let wake = Promise.withResolvers<void>()
  const news = () => {
    wake.resolve()
    wake = Promise.withResolvers()
  }
  let fault: Error | undefined
  const early: string[] = []
  ws.once('open', () => early.forEach((frame) => ws.send(frame)))
  ws.on('message', (data) => {
    events.push(JSON.parse((data as Buffer).toString()) as ServerEvent)
    news()
  })
  ws.on('error', (err) => {
    fault = err
    news()
  })
  ws.once('close', news)
  // Not `once`, which an error before the end would reject.
  const closed = new Promise<{ code: number; reason: string }>((resolve) =>
    ws.once('close', (code, reason) => resolve({ code, reason: reason.toString() }))
  )
  const refusal = new Promise<Awaited<TestSocket['refusal']>>((resolve) =>
    ws.once('unexpected-response', async (_request, response) => {
      const { statusCode: status = 0, headers } = response
      resolve({ status, headers, body: await json(response) })
    })
  )
  return {
    ws,
    events,
    closed,
    refusal,
    send(event) {
      const frame = JSON.stringify(event)
      if (ws.readyState === ws.CONNECTING) early.push(frame)
      else ws.send(frame)
    },
    async next(type) {
      for (;;) {
        const found = events.find((each) => each.type === type && !taken.has(each))
        if (found !== undefined) {
          taken.add(found)
          return found as never
        }
        if (ws.readyState === ws.CLOSED) throw fault ?? new Error(`closed before ${type}`)
        await wake.promise
      }
    }
  }
}
