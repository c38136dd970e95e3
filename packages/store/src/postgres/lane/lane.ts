import { setTimeout as pause } from 'node:timers/promises'
import { PATIENCE } from '../../commit.ts'
import { STO_ERR_CLOSED } from '../../errors.ts'
import { Connection, type Connect } from '../nodes/node-channel.ts'
import { isLost, isPassing, toStoreError } from '../query.ts'
import { commitBatch } from './commit-batch.ts'
import {
  sessionOfWrite,
  sizeOfWrite,
  type Accepted,
  type Reports,
  type RunWrite,
  type RunWriter
} from '../../runs/run-write.ts'
import type { Statements } from './statements.ts'

/** What a lane needs. */
export interface LaneHost {
  /** Opens a pipelined connection. */
  readonly connect: Connect
  readonly statements: Statements
  readonly reports: Reports
  readonly prepare: boolean
  /** True if all nodes read rows of several parts. */
  readonly isPacked: () => boolean
  /** Milliseconds that the database may be away before writes are refused. */
  readonly outage: number
}

interface Pending {
  readonly write: RunWrite
  resolve(accepted: Accepted | undefined): void
  reject(reason: unknown): void
}

// Bytes and writes of a batch: a transaction should not take long, since later writes wait for it.
const MAX_BYTES = 4_194_304
const MAX_WRITES = 2_000
// Sessions that a batch locks: what Postgres has memory for, by default, in the transactions of all its connections.
const MAX_SESSIONS = 64
// Batches that the server has: while it commits one, this process makes the next.
const MAX_IN_FLIGHT = 2
// Milliseconds between two attempts.
const FIRST_PAUSE = 20
const LONGEST_PAUSE = 500

/**
 * The writes of a node's runs, over one connection: those of one turn of the event loop, and of the commit before it, are one
 * transaction of few statements. Writes of one run take effect in call order, and none after one that failed.
 */
export class Lane implements RunWriter {
  readonly #host: LaneHost
  readonly #connection: Connection
  #queue: Pending[] = []
  readonly #inFlight = new Set<Promise<void>>()
  // Runs with writes in flight.
  readonly #runs = new Set<string>()
  #working: Promise<void> | undefined
  // The first and the last failure of the present outage.
  #outage: { readonly since: number; last: number } | undefined
  #closed = false

  constructor(host: LaneHost) {
    this.#host = host
    this.#connection = new Connection(host.connect)
  }

  /** As `RunWriter.write`; connection faults are thrown after `outage` milliseconds. */
  write(write: RunWrite): Promise<Accepted | undefined> {
    if (this.#closed) return Promise.reject(new STO_ERR_CLOSED())
    return new Promise((resolve, reject) => {
      this.#queue.push({ write, resolve, reject })
      this.#working ??= this.#work()
    })
  }

  /** Commits pending writes, refuses later ones, and closes the connection. */
  async close(): Promise<void> {
    this.#closed = true
    await this.#working
    await Promise.all(this.#inFlight)
    await this.#connection.close()
  }

  get #patience(): number {
    const { outage } = this.#host
    return this.#closed ? Math.min(outage, PATIENCE) : outage
  }

  async #work(): Promise<void> {
    while (this.#queue.length > 0) {
      // Later writes of this turn join the transaction.
      await new Promise((resolve) => setImmediate(resolve))
      const batch = this.#inFlight.size < MAX_IN_FLIGHT ? this.#takeBatch() : []
      if (batch.length > 0) this.#send(batch)
      else await Promise.race(this.#inFlight)
    }
    this.#working = undefined
  }

  #send(batch: readonly Pending[]): void {
    for (const { write } of batch) this.#runs.add(write.runId)
    const committed = this.#commit(batch).finally(() => {
      for (const { write } of batch) this.#runs.delete(write.runId)
      this.#inFlight.delete(committed)
    })
    this.#inFlight.add(committed)
  }

  // A run is in one batch at a time. A write that must come after a change, a checkpoint or the creation of its run waits for the next batch.
  // So does a place that is to be free, after another one of its session, with those behind it. A place joins the creation of its run.
  #takeBatch(): Pending[] {
    const batch: Pending[] = []
    const left: Pending[] = []
    const closed = new Set(this.#runs)
    const begun = new Set<string>()
    const sessions = new Set<string>()
    const placed = new Set<string>()
    const behind = new Set<string>()
    let bytes = 0
    for (const each of this.#queue) {
      const { write } = each
      const session = sessionOfWrite(write)
      const isLocked = session === undefined || sessions.has(session) || sessions.size < MAX_SESSIONS
      const isPlace = write.kind === 'place'
      const joins = isPlace && write.row !== undefined && begun.has(write.runId)
      const isFull =
        batch.length > 0 && !joins && (bytes >= MAX_BYTES || batch.length >= MAX_WRITES || !isLocked)
      if (isPlace && (isFull || (write.ifFree && placed.has(write.sessionKey)))) behind.add(write.sessionKey)
      const mayJoin =
        !closed.has(write.runId) &&
        !(write.kind === 'create' && begun.has(write.runId)) &&
        (joins || !isPlace || !behind.has(write.sessionKey))
      if (isFull || !mayJoin) {
        left.push(each)
        closed.add(write.runId)
        continue
      }
      batch.push(each)
      if (session !== undefined) sessions.add(session)
      if (isPlace) placed.add(write.sessionKey)
      bytes += sizeOfWrite(write)
      begun.add(write.runId)
      if (isLast(write)) closed.add(write.runId)
    }
    this.#queue = left
    return batch
  }

  async #commit(batch: readonly Pending[]): Promise<void> {
    try {
      const accepted = await this.#persist(batch.map(({ write }) => write))
      for (const { write, resolve } of batch) resolve(accepted.get(write))
    } catch (err) {
      const runs = [...Map.groupBy(batch, ({ write }) => write.runId).values()]
      if (runs.length === 1 || isPassing(err)) return this.#refuse(batch, toStoreError(err))
      // One run may have caused it: the halves in order, down to that one. No run is created without its place, or ends without its turn.
      const middle = runs.length >> 1
      await this.#commit(runs.slice(0, middle).flat())
      await this.#commit(runs.slice(middle).flat())
    }
  }

  // What waits of the same runs fails too, so that none ends without its turn.
  #refuse(batch: readonly Pending[], err: unknown): void {
    const runs = new Set(batch.map(({ write }) => write.runId))
    const waiting = this.#queue.filter(({ write }) => runs.has(write.runId))
    this.#queue = this.#queue.filter(({ write }) => !runs.has(write.runId))
    for (const { reject } of [...batch, ...waiting]) reject(err)
  }

  // Tries again while the database is away.
  async #persist(batch: readonly RunWrite[]): Promise<ReadonlyMap<RunWrite, Accepted>> {
    for (let isRepeat = false, wait = FIRST_PAUSE; ; wait = Math.min(wait * 2, LONGEST_PAUSE)) {
      try {
        const accepted = await this.#attempt(batch, isRepeat)
        this.#outage = undefined
        return accepted
      } catch (err) {
        if (!isPassing(err) && (isRepeat || !isDuplicate(err))) throw err
        isRepeat = true
        if (isDuplicate(err)) continue
        if (this.#lastsTooLong(performance.now())) throw err
        await pause(wait)
      }
    }
  }

  // A failure long after the one before begins another outage.
  #lastsTooLong(now: number): boolean {
    const patience = this.#patience
    if (this.#outage === undefined || now - this.#outage.last > patience)
      this.#outage = { since: now, last: now }
    this.#outage.last = now
    return now - this.#outage.since >= patience
  }

  async #attempt(batch: readonly RunWrite[], isRepeat: boolean): Promise<ReadonlyMap<RunWrite, Accepted>> {
    const client = await this.#connection.get()
    try {
      return await commitBatch(client, batch, { ...this.#host, isPacked: this.#host.isPacked(), isRepeat })
    } catch (err) {
      if (isLost(err)) this.#connection.drop()
      throw err
    }
  }
}

// A write whose connection was lost may be asked for again by its run, when the outage is over.
function isDuplicate(err: unknown): boolean {
  return (err as { code?: unknown } | undefined)?.code === '23505'
}

function isLast(write: RunWrite): boolean {
  if (write.kind === 'append') return write.change !== undefined
  return write.kind === 'save' || write.kind === 'forget'
}
