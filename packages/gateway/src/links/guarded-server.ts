import type { EventEmitter } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket as TcpSocket } from 'node:net'
import type { FastifyInstance } from 'fastify'
import type { Namespace, Server } from 'socket.io'
import { shortenClose } from './force-close.ts'
import { Intake } from './intake.ts'
import { LinkGuard, type GuardedGateway } from './link-guard.ts'
import { Link, type EngineSocket } from './link.ts'

type Engine = Server['engine']
/** The private members of a WebSocket transport. */
interface WebSocketTransport {
  socket?: EventEmitter & { _socket?: TcpSocket }
}

const guarded = new WeakMap<Server, GuardedServer>()

/** Guards the namespace of a gateway and all connections of its server. */
export function guardServer(app: FastifyInstance, io: Server, gateway: GuardedGateway): void {
  const server = guarded.get(io) ?? new GuardedServer(io)
  guarded.set(io, server)
  server.add(gateway)
  if (server.attach()) return
  // The host may attach the server later.
  app.addHook('onReady', async () => void server.attach())
  app.addHook('onListen', async () => {
    if (!server.attach())
      app.log.warn('the Socket.IO server is not attached to an HTTP server: its connections are not guarded')
  })
}

/** Shows a server's incoming packets to its guard. */
class GuardedServer {
  readonly #io: Server
  readonly #guard: LinkGuard
  readonly #engines = new WeakSet<Engine>()
  readonly #links = new WeakMap<EngineSocket, Link>()
  /** By the TCP socket beneath a WebSocket. */
  readonly #intakes = new WeakMap<TcpSocket, Intake>()

  constructor(io: Server) {
    this.#io = io
    this.#guard = new LinkGuard(io)
    const { _nsps: namespaces } = io
    for (const namespace of namespaces.values()) this.#watchNamespace(namespace)
    io.on('new_namespace', (namespace) => this.#watchNamespace(namespace))
  }

  /** Guards the namespace of a gateway. */
  add(gateway: GuardedGateway): void {
    this.#guard.add(gateway)
  }

  /** Guards new connections; false while the server is not attached to an HTTP server. */
  attach(): boolean {
    const { engine } = this.#io as { engine?: Engine }
    if (engine === undefined || this.#engines.has(engine)) return engine !== undefined
    this.#engines.add(engine)
    shortenClose(engine)
    engine.use((request: IncomingMessage, response: ServerResponse, next: () => void) => {
      if (this.#takesBody(engine, request)) next()
      else response.writeHead(413, { connection: 'close' }).end()
    })
    engine.on('headers', (_headers: object, request: IncomingMessage) => this.#watchUpgrade(request))
    engine.on('connection', (conn: EngineSocket) => this.#open(conn))
    return true
  }

  #watchNamespace(namespace: Namespace): void {
    namespace.on('connection', (socket) => {
      const link = this.#links.get(socket.conn)
      if (link === undefined) return
      this.#guard.enter(link, namespace.name, isServed(namespace))
      if (link.isIn(namespace.name)) socket.once('disconnect', () => link.leave(namespace.name))
    })
  }

  // Without `Content-Length` the sum is NaN, so a bounded connection is refused.
  #takesBody(engine: Engine, { method, headers, url = '' }: IncomingMessage): boolean {
    if (method !== 'POST') return true
    const sid = new URL(url, 'http://localhost').searchParams.get('sid') ?? ''
    const { clients } = engine as unknown as { clients: Record<string, EngineSocket> }
    const link = Object.hasOwn(clients, sid) ? this.#links.get(clients[sid]!) : undefined
    if (link === undefined || !link.intake.bounded) return true
    link.intake.bytes += Number(headers['content-length'])
    if (link.intake.bytes <= this.#guard.handshakeLimit) return true
    link.conn.close(true)
    return false
  }

  // Runs just before the WebSocket begins to read.
  #watchUpgrade({ headers, socket }: IncomingMessage): void {
    if (headers.upgrade === undefined || this.#intakes.has(socket)) return
    this.#intakes.set(socket, new Intake(socket, () => this.#guard.handshakeLimit))
  }

  #open(conn: EngineSocket): void {
    const link = new Link(conn, this.#intakes.get(conn.request.socket) ?? new Intake())
    this.#links.set(conn, link)
    const countPings = ({ socket }: WebSocketTransport) => socket?.on('ping', () => this.#guard.ping(link))
    conn.on('packet', (packet) => this.#guard.receive(link, packet))
    conn.on('upgrade', (transport: WebSocketTransport) => {
      const { _socket: tcp } = transport.socket ?? {}
      link.moveTo(tcp && this.#intakes.get(tcp))
      countPings(transport)
    })
    conn.once('close', () => this.#guard.close(link))
    countPings(conn.transport as WebSocketTransport)
    this.#guard.open(link)
  }
}

// True if anyone besides the guard listens.
function isServed(namespace: Namespace): boolean {
  const { _fns: middleware } = namespace as unknown as { _fns: readonly unknown[] }
  const listeners = namespace.listenerCount('connection') + namespace.listenerCount('connect')
  return listeners > 1 || middleware.length > 0
}
