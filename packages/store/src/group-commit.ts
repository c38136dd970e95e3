import { setTimeout as pause } from 'node:timers/promises'
import type { Kysely, Transaction } from 'kysely'
import { STO_ERR_CLOSED } from './errors.ts'
import { BUSY_PAUSE, isBusy } from './sqlite/retry-busy.ts'
import type { Tables } from './tables.ts'

/** Writes within a transaction; what it throws before it has written anything refuses it alone. */
export type Write<T> = (trx: Transaction<Tables>) => Promise<T>

interface Pending {
  write: Write<unknown>
  /** Milliseconds that it waits for another program's lock. */
  patience: number
  /** When they are over, once it waits. */
  until: number | undefined
  resolve(value: never): void
  reject(reason: unknown): void
}

const PATIENCE = 5_000

/** A refusal by a rule of ours, not a fault of the database. */
export class Refused extends Error {
  readonly reason: Error

  constructor(reason: Error) {
    super(reason.message)
    this.reason = reason
  }
}

/**
 * Collects the writes of one turn of the event loop, of whatever runs and sessions, into one transaction, in their order.
 * Each is acknowledged after the commit.
 */
export class GroupCommit {
  readonly #db: Kysely<Tables>
  readonly #requireFile: () => void
  #pending: Pending[] = []
  #working: Promise<void> | undefined
  #closed = false

  /** @param requireFile throws when what is written would be lost */
  constructor(db: Kysely<Tables>, requireFile: () => void = () => {}) {
    this.#db = db
    this.#requireFile = requireFile
  }

  /**
   * Resolves with what the write gives, when it is committed.
   * @param patience milliseconds that it waits for another program's lock; default 5,000
   */
  write<T>(write: Write<T>, patience = PATIENCE): Promise<T> {
    if (this.#closed) return Promise.reject(new STO_ERR_CLOSED())
    return new Promise<T>((resolve, reject) => {
      this.#pending.push({ write, patience, until: undefined, resolve, reject })
      this.#working ??= this.#work()
    })
  }

  /** Commits what is pending, and refuses what comes after. */
  async close(): Promise<void> {
    this.#closed = true
    await this.#working
  }

  async #work(): Promise<void> {
    while (this.#pending.length > 0) {
      // What else this turn brings goes along.
      await new Promise((resolve) => setImmediate(resolve))
      const batch = this.#pending
      this.#pending = []
      const fault = await this.#commit(batch)
      if (isBusy(fault)) await this.#postpone(batch, fault)
      else if (fault !== undefined) await this.#commitEach(batch, fault)
    }
    this.#working = undefined
  }

  // A fault of the database takes the whole transaction back, though only one of the writes may be to blame.
  async #commitEach(batch: readonly Pending[], fault: unknown): Promise<void> {
    if (batch.length === 1) return batch[0]!.reject(fault)
    for (const [index, each] of batch.entries()) {
      const own = await this.#commit([each])
      if (isBusy(own)) return await this.#postpone(batch.slice(index), own)
      if (own !== undefined) each.reject(own)
    }
  }

  // SQLite's own way to wait for a lock would block the event loop.
  async #postpone(batch: readonly Pending[], fault: unknown): Promise<void> {
    const now = performance.now()
    const patient: Pending[] = []
    for (const each of batch) {
      each.until ??= now + each.patience
      if (each.until > now) patient.push(each)
      else each.reject(fault)
    }
    this.#pending = [...patient, ...this.#pending]
    if (this.#pending.length > 0) await pause(BUSY_PAUSE)
  }

  // Gives the fault that took the transaction back.
  async #commit(batch: readonly Pending[]): Promise<unknown> {
    const settle: (() => void)[] = []
    try {
      this.#requireFile()
      await this.#db.transaction().execute(async (trx) => {
        for (const { write, resolve, reject } of batch) {
          try {
            const value = await write(trx)
            settle.push(() => resolve(value as never))
          } catch (err) {
            if (!(err instanceof Refused)) throw err
            settle.push(() => reject(err.reason))
          }
        }
      })
    } catch (err) {
      return err
    }
    for (const each of settle) each()
    return undefined
  }
}
