import type { Kysely, Transaction } from 'kysely'
import { STO_ERR_CLOSED } from './errors.ts'
import type { Tables } from './tables.ts'

/** Writes within a transaction; what it throws before it has written anything refuses it alone. */
export type Write<T> = (trx: Transaction<Tables>) => Promise<T>

interface Pending {
  write: Write<unknown>
  resolve(value: never): void
  reject(reason: unknown): void
}

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
  #pending: Pending[] = []
  #working: Promise<void> | undefined
  #closed = false

  constructor(db: Kysely<Tables>) {
    this.#db = db
  }

  /** Resolves with what the write gives, when it is committed. */
  write<T>(write: Write<T>): Promise<T> {
    if (this.#closed) return Promise.reject(new STO_ERR_CLOSED())
    return new Promise<T>((resolve, reject) => {
      this.#pending.push({ write, resolve, reject })
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
      if (!(await this.#commit(batch)) && batch.length > 1)
        for (const each of batch) await this.#commit([each])
    }
    this.#working = undefined
  }

  // A fault of the database takes the whole transaction back: then each write is tried alone.
  async #commit(batch: readonly Pending[]): Promise<boolean> {
    const settle: (() => void)[] = []
    try {
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
      if (batch.length === 1) batch[0]!.reject(err)
      return false
    }
    for (const each of settle) each()
    return true
  }
}
