import type { Socket } from 'socket.io'
import { PacketType } from 'socket.io-parser'
import { EventBudget } from './event-budget.ts'
import type { Intake } from './intake.ts'
import type { PacketHeader } from './packet-header.ts'

/** A connection of Engine.IO: it carries the sockets of all namespaces. */
export type EngineSocket = Socket['conn']

/** Packets that may wait for a client that sends more. */
const UNREAD = 1_000

/** What one connection has sent, and which of the app's own namespaces it is in. */
export class Link {
  readonly conn: EngineSocket
  /** Of its present transport. */
  intake: Intake
  /** Whether a namespace has let it in. */
  entered = false
  /** Whether it was refused something and is about to end. */
  refused = false
  #packets = 0
  #budgets: Map<object | undefined, EventBudget> | undefined
  #namespaces: Set<string> | undefined

  constructor(conn: EngineSocket, intake: Intake) {
    this.conn = conn
    this.intake = intake
  }

  /**
   * Counts a packet for what it is sent to: all until a namespace lets it in, then those of a second. False where it is one
   * too many, or answers are not read.
   */
  count(receiver: object | undefined, perSecond: number): boolean {
    const { writeBuffer } = this.conn as unknown as { writeBuffer: readonly unknown[] }
    if (writeBuffer.length > UNREAD) return false
    if (!this.entered) return ++this.#packets <= perSecond
    const budgets = (this.#budgets ??= new Map())
    let budget = budgets.get(receiver)
    if (budget === undefined) budgets.set(receiver, (budget = new EventBudget(perSecond)))
    return budget.take()
  }

  /** Its transport is another one. */
  moveTo(intake: Intake | undefined): void {
    if (intake === undefined) return
    intake.bounded = this.intake.bounded
    this.intake = intake
  }

  /** It is in a namespace of the app. */
  join(namespace: string): void {
    ;(this.#namespaces ??= new Set()).add(namespace)
  }

  isIn(namespace: string): boolean {
    return this.#namespaces?.has(namespace) === true
  }

  leave(namespace: string): void {
    this.#namespaces?.delete(namespace)
  }

  /** Whether a message is for a namespace of the app that it is in: what that takes, and how much, is not ours to judge. */
  isForApp(header: PacketHeader | undefined): boolean {
    if (this.#namespaces === undefined || this.#namespaces.size === 0) return false
    // An attachment, or a packet that only the app's own parser can read.
    if (header === undefined) return true
    const { type, namespace } = header
    return type !== PacketType.CONNECT && type !== PacketType.DISCONNECT && this.#namespaces.has(namespace)
  }
}
