import type { ServerResponse } from 'node:http'
import { RUN_ERR_READER_LEFT } from '@svc/contract/errors'
import { onReplyOver } from './open-replies.ts'

/** Bytes of the answers that are in memory at the same time; a larger one is there alone. */
const BUDGET = 8_388_608
/** Answers up to this many bytes are not counted. */
const SMALL = 131_072
/** Milliseconds between two looks at the clients that read, while others wait. */
const EVERY = 5_000
/** Bytes that a client takes in that time at least. */
const SLOWEST = 65_536

interface Holder {
  readonly reply: ServerResponse
  bytes: number
  /** Bytes that the client had taken at the last look, if the answer was under way then. */
  taken?: number
}

interface Waiter {
  readonly reply: ServerResponse
  readonly bytes: number
  readonly begin: () => void
}

/**
 * The memory of answers that are made from logs and held until their clients have read them. While it is used up, others wait, and owners take
 * turns, so that the many requests of one do not delay those of all. A client that hardly reads while others wait loses its connection.
 */
export class AnswerMemory {
  readonly #budget: number
  readonly #every: number
  readonly #holders = new Map<ServerResponse, Holder>()
  /** By owner; the owner whose turn is next comes first. */
  readonly #waiting = new Map<string, Waiter[]>()
  #held = 0
  #timer: NodeJS.Timeout | undefined

  /** @param budget in bytes @param every milliseconds between two looks at the clients */
  constructor(budget = BUDGET, every = EVERY) {
    this.#budget = budget
    this.#every = every
  }

  /** Bytes of the answers that are in memory. */
  get held(): number {
    return this.#held
  }

  /**
   * Waits until an answer may be in memory; it counts until its reply is over. Undefined if it may be at once.
   * @throws RUN_ERR_READER_LEFT if the client leaves before
   */
  reserve(reply: ServerResponse, owner: string, bytes: number): Promise<void> | undefined {
    if (bytes <= SMALL) return undefined
    if (reply.destroyed) return Promise.reject(new RUN_ERR_READER_LEFT())
    if (this.#holders.has(reply) || (this.#waiting.size === 0 && this.#fits(bytes))) {
      this.#hold(reply, bytes)
      return undefined
    }
    this.#timer ??= setInterval(() => this.#dropIdle(), this.#every).unref()
    return new Promise((resolve, reject) => {
      const leave = () => {
        this.#remove(owner, waiter)
        reject(new RUN_ERR_READER_LEFT())
      }
      const begin = () => {
        reply.off('close', leave)
        resolve()
      }
      const waiter = { reply, bytes, begin }
      reply.once('close', leave)
      const queue = this.#waiting.get(owner)
      if (queue === undefined) this.#waiting.set(owner, [waiter])
      else queue.push(waiter)
    })
  }

  #fits(bytes: number): boolean {
    return this.#held === 0 || this.#held + bytes <= this.#budget
  }

  #hold(reply: ServerResponse, bytes: number): void {
    this.#held += bytes
    const known = this.#holders.get(reply)
    if (known !== undefined) {
      known.bytes += bytes
      return
    }
    const holder: Holder = { reply, bytes }
    this.#holders.set(reply, holder)
    onReplyOver(reply, () => {
      this.#holders.delete(reply)
      this.#held -= holder.bytes
      this.#advance()
    })
  }

  #advance(): void {
    for (;;) {
      const [owner, queue] = this.#waiting.entries().next().value ?? []
      if (owner === undefined || queue === undefined) break
      const [next] = queue
      if (next !== undefined && !this.#fits(next.bytes)) return
      queue.shift()
      this.#waiting.delete(owner)
      if (queue.length > 0) this.#waiting.set(owner, queue)
      if (next === undefined) continue
      this.#hold(next.reply, next.bytes)
      next.begin()
    }
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  #remove(owner: string, waiter: Waiter): void {
    const queue = this.#waiting.get(owner)
    const place = queue?.indexOf(waiter) ?? -1
    if (queue === undefined || place < 0) return
    queue.splice(place, 1)
    if (queue.length === 0) this.#waiting.delete(owner)
    this.#advance()
  }

  #dropIdle(): void {
    for (const holder of this.#holders.values()) {
      const { reply } = holder
      // Until then the answer is being made.
      if (!reply.headersSent) continue
      const taken = takenOf(reply)
      if (holder.taken !== undefined && taken - holder.taken < SLOWEST) reply.destroy()
      holder.taken = taken
    }
  }
}

/** Bytes that the client of a reply has taken, over its connection. */
function takenOf({ socket }: ServerResponse): number {
  return (socket?.bytesWritten ?? 0) - (socket?.writableLength ?? 0)
}

const memory = new AnswerMemory()

/** Waits until so many bytes may be in memory; undefined if they may at once. @throws RUN_ERR_READER_LEFT if the client leaves before */
export type Admit = (bytes: number) => Promise<void> | undefined

/**
 * Waits until an answer of about so many bytes may be in memory, among all of this process; it counts until its reply is over. Small ones
 * may at once.
 * @throws RUN_ERR_READER_LEFT if the client leaves before
 */
export function reserveMemory(
  reply: ServerResponse,
  owner: string,
  bytes: number
): Promise<void> | undefined {
  return memory.reserve(reply, owner, bytes)
}

/** Reserves memory for the largest of the pieces of an answer, which are made one after the other; it counts until the reply is over. */
export function reserveLargest(reply: ServerResponse, owner: string): Admit {
  let reserved = 0
  return (bytes) => {
    const missing = bytes - reserved
    if (missing <= 0) return undefined
    reserved = bytes
    return reserveMemory(reply, owner, missing)
  }
}
