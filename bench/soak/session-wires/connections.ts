import { Fatal } from '../agents/service.ts'
import type { Reach } from '../cluster/reach.ts'
import type { Random } from '../random.ts'

/** What readers have. */
export interface Reading {
  readonly reach: Reach
  readonly random: Random
  /** Events until a reader cuts its connection, at most; default: it reads on. */
  readonly mostEvents?: number
  readonly counts: ReadCounts
}

/** What all readers have done. */
export interface ReadCounts {
  events: number
  /** Connections that were cut in the middle. */
  cuts: number
}

/**
 * Reads on one connection.
 * @param take counts an event; false if the connection is to be cut
 */
type Read = (url: string, take: () => boolean, signal: AbortSignal) => Promise<void>

// Milliseconds without an event after which a reader connects to another node.
const PATIENCE = 4_000

/** The connections of a reader to nodes at random, which it cuts after a few events, until it has read all. */
export class Connections {
  readonly #reading: Reading
  readonly #read: Read
  #current = new AbortController()
  #isOver = false
  /** What readers must not see. */
  readonly faults: string[] = []

  constructor(reading: Reading, read: Read) {
    this.#reading = reading
    this.#read = read
  }

  /** True if nothing more is to be read. */
  get isOver(): boolean {
    return this.#isOver
  }

  /** Nothing more is to be read. */
  end(): void {
    this.#isOver = true
    this.#current.abort()
  }

  fail(fault: string): void {
    this.faults.push(fault)
  }

  /** Connects until all is read, or a node refuses. */
  async follow(): Promise<void> {
    try {
      while (!this.#isOver) await this.#reading.reach.persist((url) => this.#connect(url))
    } catch (err) {
      this.fail(`a stream was refused: ${(err as Error).message}`)
      this.#isOver = true
    }
  }

  async #connect(url: string): Promise<void> {
    if (this.#isOver) return
    const { random, counts, mostEvents } = this.#reading
    const connection = (this.#current = new AbortController())
    const timer = setTimeout(() => connection.abort(), PATIENCE)
    let left = mostEvents === undefined ? Infinity : 1 + random.below(mostEvents)
    const take = () => {
      timer.refresh()
      counts.events++
      if (this.#isOver || --left > 0) return !this.#isOver
      counts.cuts++
      return false
    }
    try {
      await this.#read(url, take, connection.signal)
      // A node that ends has ended its streams.
      if (left > 0 && !this.#isOver) throw new Error('the stream ended')
    } catch (err) {
      if (err instanceof Fatal || !this.#isOver) throw err
    } finally {
      clearTimeout(timer)
      connection.abort()
    }
  }
}
