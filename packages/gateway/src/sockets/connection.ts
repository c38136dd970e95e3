import type { IncomingHttpHeaders } from 'node:http'
import {
  dropOldest,
  toLoggable,
  type Principal,
  type RunnableKind,
  type StoredSession,
  type VoiceOutput
} from '@svc/contract'
import {
  LogReader,
  PartialReader,
  type CallConnection,
  type CallEnd,
  type EntryReader,
  type LiveCall
} from '@svc/surface'
import type { DefaultEventsMap, Socket } from 'socket.io'
import { Feed, type FeedOptions } from '../delivery/feed.ts'
import { Outlet } from '../delivery/outlet.ts'
import {
  GTW_ERR_CALL_IN_PROGRESS,
  GTW_ERR_NO_CALL,
  GTW_ERR_TOKEN_EXPIRED,
  GTW_ERR_TOO_MANY_READS,
  GTW_ERR_TOO_MANY_RUNS
} from '../errors.ts'
import { endsConnection, toRefusal } from '../events/check-payload.ts'
import type { ClientToServerEvents } from '../events/client-events.ts'
import type { ErrorEvent, ServerToClientEvents } from '../events/server-events.ts'
import type { VoiceDoneEvent } from '../events/voice-events.ts'
import type { Surface } from '../surface.ts'

/** What a call's socket needs. */
interface CallSocketOptions {
  readonly call: Pick<LiveCall, 'runId' | 'acknowledged'>
  readonly socket: Pick<Socket, 'emit' | 'conn'>
  readonly outlet: Pick<Outlet, 'writable' | 'onWritable' | 'together'>
  /** Called when the socket has the call no longer. */
  left(): void
}

/**
 * The socket of a call: outputs as events, each once the socket has taken the one before. A client that answers a ping of Engine.IO has
 * received what was sent before it.
 */
class CallSocket implements CallConnection {
  readonly #options: CallSocketOptions
  #sent = 0
  #sentBeforePing = 0

  constructor(options: CallSocketOptions) {
    this.#options = options
    const { conn } = options.socket
    conn.on('packetCreate', this.#onPacket)
    conn.on('heartbeat', this.#onPong)
  }

  send(output: VoiceOutput, position: number): Promise<void> | undefined {
    const { call, socket, outlet } = this.#options
    const [name, payload] = toEvent(output)
    // With its audio, which is a packet of its own.
    outlet.together(() => socket.emit(name, { runId: call.runId, position, ...payload }))
    this.#sent = position
    return outlet.writable ? undefined : new Promise((resolve) => outlet.onWritable(resolve))
  }

  ended(end: CallEnd): void {
    const { status } = end
    const cause = status === 'failed' ? { error: end.error.message, code: end.error.code } : {}
    this.#leave({ status, ...cause })
  }

  replaced(): void {
    this.#leave({ status: 'replaced' })
  }

  /** The socket sends no more of the call. */
  close(): void {
    const { conn } = this.#options.socket
    conn.off('packetCreate', this.#onPacket)
    conn.off('heartbeat', this.#onPong)
  }

  #leave(how: Omit<VoiceDoneEvent, 'runId'>): void {
    const { call, socket, left } = this.#options
    this.close()
    socket.emit('voice.done', { runId: call.runId, ...how })
    left()
  }

  readonly #onPacket = ({ type }: { type: string }): void => {
    if (type === 'ping') this.#sentBeforePing = this.#sent
  }

  readonly #onPong = (): void => this.#options.call.acknowledged(this.#sentBeforePing)
}

function toEvent(output: VoiceOutput): [name: string, payload: object] {
  const { type, ...payload } = output
  if (output.type === 'error') return ['voice.error', { error: output.message, code: output.code }]
  if (output.type !== 'audio') return [`voice.${type}`, payload]
  const { buffer, byteOffset, byteLength } = output.audio
  return ['voice.audio', { ...payload, audio: Buffer.from(buffer, byteOffset, byteLength) }]
}

/** Milliseconds between two reports of the same error about frames of audio. */
const REPORT_INTERVAL = 1_000

/** The call of a connection, of which it has one at a time. */
class CallSlot {
  readonly #socket: Pick<Socket, 'emit' | 'conn'>
  #isTaken = false
  #call: { readonly live: LiveCall; readonly socket: CallSocket } | undefined
  readonly #reportedAt = new Map<string, number>()

  constructor(socket: Pick<Socket, 'emit' | 'conn'>) {
    this.#socket = socket
  }

  /** True if events of a call may still follow. */
  get isTaken(): boolean {
    return this.#isTaken
  }

  /** Reserves the slot for a call that is to be started or continued. @throws GTW_ERR_CALL_IN_PROGRESS */
  async take<T>(find: () => Promise<T>): Promise<T> {
    if (this.#isTaken) throw new GTW_ERR_CALL_IN_PROGRESS()
    this.#isTaken = true
    try {
      return await find()
    } catch (err) {
      this.#isTaken = false
      throw err
    }
  }

  /** Connects the socket to the call that the slot was taken for. @param after as in `LiveCall.connect` */
  connect(live: LiveCall, outlet: Outlet, after: number | undefined): void {
    const left = () => this.#leave()
    const socket = new CallSocket({ call: live, socket: this.#socket, outlet, left })
    this.#call = { live, socket }
    live.connect(socket, after)
  }

  /** The call of the connection. @throws GTW_ERR_NO_CALL */
  require(): LiveCall {
    if (this.#call === undefined) throw new GTW_ERR_NO_CALL()
    return this.#call.live
  }

  /** The socket disconnected. */
  close(): void {
    const call = this.#call
    this.#leave()
    call?.socket.close()
    call?.live.disconnect(call.socket)
  }

  /** True if an error about a frame of audio is to be reported: each once a second. */
  isNews(code: string, now: number = performance.now()): boolean {
    if (now - (this.#reportedAt.get(code) ?? -Infinity) < REPORT_INTERVAL) return false
    this.#reportedAt.set(code, now)
    return true
  }

  #leave(): void {
    this.#call = undefined
    this.#isTaken = false
  }
}

/** The gateway's `socket.data`; middleware may read it. */
export interface GatewaySocketData {
  principal: Principal
}

/** A socket in the gateway's namespace. */
export type GatewaySocket = Socket<
  ClientToServerEvents,
  ServerToClientEvents,
  DefaultEventsMap,
  GatewaySocketData
>

/** Reads of files that may wait for their turn. */
const MAX_READS = 16
const MAX_KEYED = 100

/** A run to follow, after which part, and what is wanted besides its named events. */
interface FollowedRun extends Pick<FeedOptions, 'kind' | 'parts'> {
  readonly runId: string
  readonly after: number
  /** True for the object that an agent is writing; default false. */
  readonly partial?: boolean
}

/** What a feed reads; a later one with the same id replaces it. */
interface Followed extends Pick<FeedOptions, 'reader' | 'kind' | 'parts' | 'sessionId'> {
  readonly id: string
}

/** One socket in the namespace: its caller, and the runs that it follows. */
export class Connection {
  readonly socket: GatewaySocket
  readonly principal: Principal
  readonly #surface: Surface
  // Created with the first followed run, since most sockets are idle.
  #feeds: Map<string, Feed> | undefined
  #outlet: Outlet | undefined
  #starting = 0
  #reads = 0
  #lastRead: Promise<void> | undefined
  #fault: Error | undefined
  #slot: CallSlot | undefined
  // The last runs that it started with a key, so that a repetition gets no event twice.
  #keyed: Set<string> | undefined

  constructor(socket: GatewaySocket, surface: Surface) {
    this.socket = socket
    this.principal = socket.data.principal
    this.#surface = surface
  }

  /** Unique over all nodes. */
  get id(): string {
    return this.socket.id
  }

  get closed(): boolean {
    return !this.socket.connected
  }

  get headers(): IncomingHttpHeaders {
    return this.socket.handshake.headers
  }

  /** Number of followed runs. */
  get following(): number {
    return this.#feeds?.size ?? 0
  }

  /** True if events of runs or of a call may still follow. */
  get awaitsEvents(): boolean {
    return this.following > 0 || this.#slot?.isTaken === true
  }

  /** The call of the socket, if it has one. */
  get slot(): CallSlot {
    return (this.#slot ??= new CallSlot(this.socket))
  }

  /** Admits an event. @throws GTW_ERR_TOKEN_EXPIRED, and the error passed to `fail` */
  admit(): void {
    if (this.#fault !== undefined) throw this.#fault
    if (this.expired()) throw new GTW_ERR_TOKEN_EXPIRED()
  }

  expired(now: number = Date.now()): boolean {
    const { exp } = this.principal
    return exp !== undefined && exp * 1000 <= now
  }

  /** Checks that the socket may follow one more run or session. @throws GTW_ERR_TOO_MANY_RUNS */
  requireCapacity(id?: string): void {
    if (id !== undefined && this.#feeds?.has(id)) return
    if (this.following + this.#starting >= this.#surface.settings.limits.runs)
      throw new GTW_ERR_TOO_MANY_RUNS()
  }

  /** Starts a run that will be followed, if the limit allows. @throws GTW_ERR_TOO_MANY_RUNS */
  async reserve<T>(start: () => Promise<T>): Promise<T> {
    this.requireCapacity()
    this.#starting++
    try {
      return await start()
    } finally {
      this.#starting--
    }
  }

  /** Reads files one at a time, each once the connection accepts more. @throws GTW_ERR_TOO_MANY_READS */
  async readInTurn<T>(read: () => Promise<T>): Promise<T> {
    if (this.#reads >= MAX_READS) throw new GTW_ERR_TOO_MANY_READS()
    const before = this.#lastRead
    const { promise: over, resolve } = Promise.withResolvers<void>()
    this.#lastRead = over
    this.#reads++
    try {
      await before
      await this.#untilWritable()
      return await read()
    } finally {
      this.#reads--
      // After the answer is written.
      setImmediate(resolve)
    }
  }

  /** True while it follows the run. */
  follows(runId: string): boolean {
    return this.#feeds?.has(runId) === true
  }

  /** Emits the events of a run that an event with a key has started, unless this socket gets or got them. */
  followKeyed(run: FollowedRun): void {
    this.#keyed ??= new Set()
    if (this.#keyed.has(run.runId)) return
    dropOldest(this.#keyed.add(run.runId), MAX_KEYED)
    if (!this.follows(run.runId)) this.follow(run)
  }

  /** Emits the events of a run after a given part, until the run or the socket ends. */
  follow({ runId, after, partial = false, ...how }: FollowedRun): void {
    if (this.closed) return
    const { runs } = this.#surface
    const reader = partial ? PartialReader.ofRun(runs, runId, after) : new LogReader(runs, runId, after)
    this.#feed({ id: runId, reader, ...how })
  }

  /** Emits the events of a session, with all parts, until its reader or the socket ends. */
  followSession(id: string, { kind, sessionId }: StoredSession, reader: EntryReader): void {
    this.#feed({ id, reader, kind, sessionId, parts: true })
  }

  /** Follows it no longer; false if it was not followed. */
  unfollow(id: string): boolean {
    this.#feeds?.get(id)?.close()
    return this.#feeds?.delete(id) === true
  }

  /** Emits the events of a call after a given output, until the call or the socket ends. @param after default: the latest */
  connectCall(call: LiveCall, after: number | undefined): void {
    this.slot.connect(call, this.#requireOutlet(), after)
    // The socket may have left before.
    if (this.closed) this.slot.close()
  }

  /** Emits an error that belongs to no active run; an exceeded limit also ends the connection. */
  refuse(
    event: `${RunnableKind}.error` | 'voice.error' | 'gateway.error',
    { error, code }: ErrorEvent
  ): void {
    this.socket.emit(event, { error, code })
    if (endsConnection({ code })) this.socket.disconnect(true)
  }

  /** Refuses the next event, with an error that ends the connection. */
  fail(err: Error): void {
    this.#fault = err
  }

  /** Ends the connection with an error. */
  end({ error, code }: ErrorEvent): void {
    this.socket.emit('gateway.error', { error, code })
    this.socket.disconnect(true)
  }

  /** Releases everything after the socket disconnected. */
  close(): void {
    for (const feed of this.#feeds?.values() ?? []) feed.close()
    this.#feeds = undefined
    this.#slot?.close()
    this.#outlet?.close()
    this.#surface.keeper.leave(this)
  }

  #feed({ id, ...followed }: Followed): void {
    const { reader, kind, sessionId } = followed
    if (this.closed) return reader.close()
    const { runs, settings, keeper, log } = this.#surface
    const feeds = (this.#feeds ??= new Map())
    feeds.get(id)?.close()
    const feed = new Feed({
      ...followed,
      runs,
      exposeToolArgs: settings.exposeToolArgs,
      outlet: this.#requireOutlet(),
      ended: (err) => {
        feeds.delete(id)
        const { runId } = reader
        if (err === undefined) return sessionId === undefined && keeper.ended(runId, this)
        log.error({ err: toLoggable(err), runId }, 'the log of the run cannot be read')
        const { error, code } = toRefusal(err)
        const place = sessionId === undefined ? { runId } : { sessionId }
        this.#requireOutlet().emit(JSON.stringify([`${kind}.error`, { error, code, ...place }]))
      }
    })
    feeds.set(id, feed)
    feed.pump()
  }

  #requireOutlet(): Outlet {
    return (this.#outlet ??= new Outlet(this.socket, this.#surface.encoding))
  }

  // Never resolves if the connection ends before.
  #untilWritable(): Promise<void> | undefined {
    if (this.closed) return undefined
    const outlet = this.#requireOutlet()
    return outlet.writable ? undefined : new Promise((resolve) => outlet.onWritable(resolve))
  }
}
