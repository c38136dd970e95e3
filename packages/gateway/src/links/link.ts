import type { Socket } from 'socket.io'
import { PacketType } from 'socket.io-parser'
import type { Intake } from './intake.ts'
import type { PacketHeader } from './attachment-free-parser.ts'

const SECOND = 1_000

/** Counts packets or bytes of one connection per window of time. */
class EventBudget {
  readonly #most: number
  readonly #window: number
  #since = 0
  #taken = 0

  /** @param window milliseconds for which the limit holds; default a second */
  constructor(most: number, window = SECOND) {
    this.#most = most
    this.#window = window
  }

  /** Counts a packet, or some bytes; false if they exceed the limit. */
  take(amount = 1, now: number = performance.now()): boolean {
    if (now - this.#since >= this.#window) {
      this.#since = now
      this.#taken = 0
    }
    this.#taken += amount
    return this.#taken <= this.#most
  }
}

/** An Engine.IO connection, which carries the sockets of all namespaces. */
export type EngineSocket = Socket['conn']

/** Packets that may wait unread by a client that keeps sending. */
const UNREAD = 1_000
/** Handshakes of one connection with namespaces, each of which is answered, per minute. */
const CONNECTS = 60
const MINUTE = 60_000
/** Bytes that a frame of audio counts for at least. */
const MIN_FRAME = 2_000

/** Counts the packets of one connection and tracks which of the app's own namespaces it is in. */
export class Link {
  readonly conn: EngineSocket
  /** The intake of the current transport. */
  intake: Intake
  /** Whether a namespace has admitted it. */
  entered = false
  /** Whether it exceeded a limit and is about to close. */
  refused = false
  #packets = 0
  // Once audio was sent: its budget, and whether the frame of an announcement is still to come.
  #audio: EventBudget | undefined
  #expectsAudio = false
  readonly #connects = new EventBudget(CONNECTS, MINUTE)
  #budgets: Map<object | undefined, EventBudget> | undefined
  #namespaces: Set<string> | undefined

  constructor(conn: EngineSocket, intake: Intake) {
    this.conn = conn
    this.intake = intake
  }

  /**
   * Counts a packet for its receiver: in total until a namespace admits the connection, then per second. False if it
   * exceeds the limit, or the client leaves replies unread.
   */
  count(receiver: object | undefined, perSecond: number): boolean {
    if (this.#leavesUnread) return false
    if (!this.entered) return ++this.#packets <= perSecond
    const budgets = (this.#budgets ??= new Map())
    let budget = budgets.get(receiver)
    if (budget === undefined) budgets.set(receiver, (budget = new EventBudget(perSecond)))
    return budget.take()
  }

  /** Counts a handshake with a namespace; false if there are too many. */
  countConnect(): boolean {
    return this.#connects.take()
  }

  /** Whether the next attachment is audio. */
  get expectsAudio(): boolean {
    return this.#expectsAudio
  }

  /** Counts an announcement of audio; false if it exceeds the limit, or the client leaves replies unread. */
  announceAudio(bytesPerSecond: number): boolean {
    this.#expectsAudio = true
    this.#audio ??= new EventBudget(bytesPerSecond)
    return !this.#leavesUnread && this.#audio.take(MIN_FRAME)
  }

  /** Counts the announced audio; false if it exceeds the limit. */
  takeAudio(bytes: number): boolean {
    this.#expectsAudio = false
    return this.#audio!.take(Math.max(bytes - MIN_FRAME, 0))
  }

  get #leavesUnread(): boolean {
    const { writeBuffer } = this.conn as unknown as { writeBuffer: readonly unknown[] }
    return writeBuffer.length > UNREAD
  }

  /** The connection changed its transport. */
  moveTo(intake: Intake | undefined): void {
    if (intake === undefined) return
    intake.bounded = this.intake.bounded
    this.intake = intake
  }

  /** The connection entered a namespace of the app. */
  join(namespace: string): void {
    ;(this.#namespaces ??= new Set()).add(namespace)
  }

  isIn(namespace: string): boolean {
    return this.#namespaces?.has(namespace) === true
  }

  leave(namespace: string): void {
    this.#namespaces?.delete(namespace)
  }

  /** Whether a message goes to a namespace of the app that the connection is in; those we do not limit. */
  isForApp(header: PacketHeader | undefined): boolean {
    if (this.#namespaces === undefined || this.#namespaces.size === 0) return false
    // An attachment, or a packet of the app's own parser.
    if (header === undefined) return true
    const { type, namespace } = header
    return type !== PacketType.CONNECT && type !== PacketType.DISCONNECT && this.#namespaces.has(namespace)
  }
}
