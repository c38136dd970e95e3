import type { EventEmitter } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket as TcpSocket } from 'node:net'
import type { RunLog } from '@svc/contract'
import { logFault } from '@svc/surface'
import type { FastifyInstance } from 'fastify'
import type { Namespace, Server } from 'socket.io'
import { PacketType, type Encoder } from 'socket.io-parser'
import {
  GTW_ERR_BAD_PAYLOAD,
  GTW_ERR_PAYLOAD_TOO_LARGE,
  GTW_ERR_TOO_MANY_EVENTS,
  GTW_ERR_TOO_MANY_WAITING
} from '../errors.ts'
import { toRefusal } from '../events/check-payload.ts'
import type { ErrorEvent } from '../events/server-events.ts'
import type { GatewaySettings } from '../options.ts'
import {
  announcesAudio,
  hasAttachments,
  hasStandardEncoding,
  isAttachmentFree,
  readHeader,
  type AttachmentFreeParser,
  type PacketHeader
} from './attachment-free-parser.ts'
import { forceClose, forceCloseLater, shortenClose } from './force-close.ts'
import { Intake } from './intake.ts'
import { Link, type EngineSocket } from './link.ts'

type Limits = Pick<
  GatewaySettings['limits'],
  'payload' | 'eventsPerSecond' | 'audioBytesPerSecond' | 'handshake' | 'waiting'
>

/** A gateway on a guarded server. */
export interface GuardedGateway {
  readonly namespace: string
  readonly limits: Limits
  readonly log: RunLog
  /** The socket of a connection, once it is in the namespace. */
  find(conn: EngineSocket): GuardedSocket | undefined
}

interface GuardedSocket {
  /** Refuses the next event, with an error that ends the connection. */
  fail(err: Error): void
  /** Ends the connection with an error. */
  end(event: ErrorEvent): void
}

/** An Engine.IO packet. */
interface Received {
  readonly type: string
  readonly data?: unknown
}

/**
 * Checks packets before Socket.IO decodes them and closes connections that exceed a limit. Packets to the app's own
 * namespaces pass unchecked once these have admitted the connection.
 */
class LinkGuard {
  readonly #encoder: Encoder
  readonly #parser: AttachmentFreeParser | undefined
  /** Whether packets have Socket.IO's default encoding. */
  readonly #isReadable: boolean
  readonly #gateways = new Map<string, GuardedGateway>()
  /** The maximum of each limit over all gateways. */
  readonly #limits: Limits = {
    payload: 0,
    eventsPerSecond: 0,
    audioBytesPerSecond: 0,
    handshake: 0,
    waiting: 0
  }
  /** Connections that no namespace has admitted yet, oldest first. */
  readonly #waiting = new Set<Link>()

  constructor(io: Server) {
    const { encoder, opts = {} } = io as unknown as { encoder: Encoder; opts?: { parser?: unknown } }
    const { parser } = opts
    this.#encoder = encoder
    this.#parser = isAttachmentFree(parser) ? parser : undefined
    this.#isReadable = hasStandardEncoding(io)
  }

  /** Bytes that a connection may send before a namespace admits it. */
  get handshakeLimit(): number {
    return this.#limits.handshake
  }

  /** Guards the namespace of a gateway. */
  add(gateway: GuardedGateway): void {
    this.#gateways.set(gateway.namespace, gateway)
    this.#parser?.namespaces.add(gateway.namespace)
    for (const key of Object.keys(this.#limits) as (keyof Limits)[])
      this.#limits[key] = Math.max(this.#limits[key], gateway.limits[key])
  }

  /** A connection was opened and waits for admission. If too many wait, the oldest is closed. */
  open(link: Link): void {
    this.#waiting.add(link)
    if (this.#waiting.size <= this.#limits.waiting) return
    const [oldest] = this.#waiting
    this.#refuse(oldest!, new GTW_ERR_TOO_MANY_WAITING())
  }

  /** A connection was closed. */
  close(link: Link): void {
    this.#waiting.delete(link)
  }

  /** A namespace admitted a connection. @param isServed whether the app has listeners there */
  enter(link: Link, namespace: string, isServed: boolean): void {
    link.entered = true
    this.#waiting.delete(link)
    const isOurs = this.#gateways.has(namespace)
    if (isOurs || isServed) link.intake.bounded = false
    if (isServed && !isOurs) link.join(namespace)
  }

  /** The WebSocket of a connection was pinged. It answers each ping itself, so too many close it by force. */
  ping(link: Link): void {
    if (link.refused || link.count(undefined, this.#limits.eventsPerSecond)) return
    this.#refuse(link, new GTW_ERR_TOO_MANY_EVENTS())
    forceClose(link.conn)
  }

  /** A connection sent a packet. */
  receive(link: Link, received: Received): void {
    if (link.refused) return void link.conn.removeAllListeners('data')
    if (link.entered) link.intake.bytes = 0
    const { type, data } = received
    if (link.expectsAudio && type === 'message' && typeof data !== 'string') {
      const fault = this.#findAudioFault(link, sizeOf(data))
      return fault && this.#refuse(link, fault)
    }
    const isText = this.#isReadable && type === 'message' && typeof data === 'string'
    const header = isText ? readHeader(data) : undefined
    if (isText && header === undefined)
      return this.#refuse(link, new GTW_ERR_BAD_PAYLOAD('it is not a Socket.IO packet'))
    if (type === 'message' && link.isForApp(header)) return
    const fault = this.#findFault(link, received, header)
    if (fault !== undefined) this.#refuse(link, fault, header)
  }

  #findFault(link: Link, { type, data }: Received, header: PacketHeader | undefined): Error | undefined {
    const gateway = header && this.#gateways.get(header.namespace)
    const limits = gateway?.limits ?? this.#limits
    const socket = gateway?.find(link.conn)
    if (socket !== undefined && announcesAudio(data as string))
      return link.announceAudio(limits.audioBytesPerSecond) ? undefined : new GTW_ERR_TOO_MANY_EVENTS()
    if (!link.count(gateway, limits.eventsPerSecond)) return new GTW_ERR_TOO_MANY_EVENTS()
    if (header?.type === PacketType.CONNECT && !link.countConnect()) return new GTW_ERR_TOO_MANY_EVENTS()
    if (type !== 'message') return undefined
    if (sizeOf(data) > (link.intake.bounded ? limits.handshake : limits.payload))
      return new GTW_ERR_PAYLOAD_TOO_LARGE()
    // Our parser drops attachments for our sockets.
    const areDropped = this.#parser !== undefined && socket !== undefined
    if (header !== undefined && hasAttachments(header) && !areDropped)
      return new GTW_ERR_BAD_PAYLOAD('it is binary')
    return undefined
  }

  #findAudioFault(link: Link, bytes: number): Error | undefined {
    if (!link.takeAudio(bytes)) return new GTW_ERR_TOO_MANY_EVENTS()
    return bytes > this.#limits.payload ? new GTW_ERR_PAYLOAD_TOO_LARGE() : undefined
  }

  #refuse(link: Link, err: Error, header?: PacketHeader): void {
    link.refused = true
    this.#waiting.delete(link)
    const gateway = header && this.#gateways.get(header.namespace)
    const socket = header?.type === PacketType.EVENT ? gateway?.find(link.conn) : undefined
    // The event is still decoded, for its acknowledgement, and dispatched in the next tick. So is the error.
    if (socket !== undefined) process.nextTick(() => socket.fail(err))
    else this.#end(link.conn, err, header)
    link.intake.end()
    forceCloseLater(link.conn)
  }

  #end(conn: EngineSocket, err: Error, header: PacketHeader | undefined): void {
    conn.removeAllListeners('data')
    const { error, code, statusCode } = toRefusal(err)
    const gateways = [...this.#gateways.values()]
    const [{ log, namespace }] = gateways as [GuardedGateway]
    logFault(log, 'connection', { code, statusCode }, err)
    const sockets = gateways.flatMap((gateway) => gateway.find(conn) ?? [])
    for (const socket of sockets) socket.end({ error, code })
    if (sockets.length === 0) {
      const nsp = header?.type === PacketType.CONNECT ? header.namespace : namespace
      const packet = { type: PacketType.CONNECT_ERROR, nsp, data: { message: error, data: { code } } }
      for (const encoded of this.#encoder.encode(packet)) conn.write(encoded)
    }
    conn.close()
  }
}

// Includes the type character that Engine.IO prepends to text.
function sizeOf(data: unknown): number {
  if (typeof data === 'string') return Buffer.byteLength(data) + 1
  return ArrayBuffer.isView(data) ? data.byteLength : 0
}

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
      this.#guard.enter(link, namespace.name, isServedPath(namespace))
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
function isServedPath(namespace: Namespace): boolean {
  const { _fns: middleware } = namespace as unknown as { _fns: readonly unknown[] }
  const listeners = namespace.listenerCount('connection') + namespace.listenerCount('connect')
  return listeners > 1 || middleware.length > 0
}
