import Fastify, { type FastifyInstance } from 'fastify'
import { io, type Socket } from 'socket.io-client'

/** A response; `body` is parsed if it is JSON. */
export interface Answer {
  status: number
  headers: Headers
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into it by `match`
  body: any
}

/** A served app and clients of its surfaces. */
export interface Served {
  app: FastifyInstance
  origin: string
  /** Sends a request; a body is sent as JSON. */
  ask(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>
  /** Calls a JSON-RPC method, and returns its result or error. */
  rpc(
    path: string,
    method: string,
    params: unknown,
    headers?: Record<string, string>
  ): Promise<Answer['body']>
  /** Connects a client to a namespace; `ask` sends an event and returns the acknowledgement. */
  connect(namespace?: string, auth?: object): Promise<Client>
}

/** A connected socket. */
export interface Client {
  socket: Socket
  ask(event: string, payload: object): Promise<Answer['body']>
}

type Test = { teardown(fn: () => unknown): unknown }

/** Serves an app on a free port until the test ends or the app is closed. */
export async function serve(t: Test, register: (app: FastifyInstance) => Promise<unknown>): Promise<Served> {
  const app = Fastify({ forceCloseConnections: true })
  t.teardown(() => app.close())
  await register(app)
  const origin = await app.listen({ port: 0, host: '127.0.0.1' })
  const ask: Served['ask'] = async (method, path, body, headers = {}) => {
    const response = await fetch(origin + path, {
      method,
      headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
      ...(body !== undefined && { body: JSON.stringify(body) })
    })
    const text = await response.text()
    const isJson = response.headers.get('content-type')?.includes('json') === true
    return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : text }
  }
  return {
    app,
    origin,
    ask,
    async rpc(path, method, params, headers) {
      const { body } = await ask('POST', path, { jsonrpc: '2.0', id: 1, method, params }, headers)
      return body.error ?? body.result
    },
    connect: (namespace = '/', auth = {}) => connectTo(t, origin + namespace, auth)
  }
}

/** Connects a client of sockets to a service until the test ends. */
export async function connectTo(t: Test, url: string, auth: object = {}): Promise<Client> {
  const socket = io(url, { transports: ['websocket'], forceNew: true, reconnection: false, auth })
  t.teardown(() => socket.disconnect())
  await new Promise<void>((resolve, reject) => {
    socket.once('connect', resolve)
    socket.once('connect_error', reject)
  })
  return { socket, ask: (event, payload) => socket.emitWithAck(event, payload) }
}

/** Repeats a request until the response matches. */
export async function until<T>(ask: () => Promise<T>, isWanted: (answer: T) => boolean): Promise<T> {
  for (;;) {
    const answer = await ask()
    if (isWanted(answer)) return answer
    await new Promise((resolve) => setImmediate(resolve))
  }
}
