import { setTimeout as pause } from 'node:timers/promises'
import { isPromise } from '@svc/contract'
import type { Kysely } from 'kysely'
import { PATIENCE, Refused, type Commit, type Write } from '../commit.ts'
import { STO_ERR_CLOSED } from '../errors.ts'
import type { Tables } from '../tables.ts'

const SQLITE_BUSY = 5
/** Milliseconds between two attempts. */
const BUSY_PAUSE = 25

/** True for an error caused by another program's lock. */
function isBusy(err: unknown): boolean {
  return ((err as { errcode?: number } | undefined)?.errcode ?? 0) % 256 === SQLITE_BUSY
}

/** Repeats work that another program's lock refuses, for `patience` milliseconds. @throws the error of `work` */
export async function retryBusy<T>(work: () => Promise<T>, patience: number): Promise<T> {
  const until = performance.now() + patience
  for (;;) {
    try {
      return await work()
    } catch (err) {
      if (!isBusy(err) || performance.now() >= until) throw err
      await pause(BUSY_PAUSE)
    }
  }
}

// Turns of the event loop, as long as each brings more writes: a commit costs more than what it writes.
const MAX_TURNS = 4

interface Pending {
  write: Write<unknown>
  /** Milliseconds to wait for another program's lock. */
  patience: number
  /** The deadline, once it is waiting. */
  until: number | undefined
  resolve(value: never): void
  reject(reason: unknown): void
}

/**
 * Groups all writes of one turn of the event loop, and under load of the next few, into one transaction, in order. Each is acknowledged
 * after the commit.
 */
export class GroupCommit implements Commit {
  readonly outage = PATIENCE
  readonly isShared = false
  readonly #db: Kysely<Tables>
  readonly #requireFile: () => void
  #pending: Pending[] = []
  #working: Promise<void> | undefined
  #closed = false

  /** @param requireFile throws if writes would be lost */
  constructor(db: Kysely<Tables>, requireFile: () => void = () => {}) {
    this.#db = db
    this.#requireFile = requireFile
  }

  write<T>(write: Write<T>, patience = PATIENCE): Promise<T> {
    if (this.#closed) return Promise.reject(new STO_ERR_CLOSED())
    return new Promise<T>((resolve, reject) => {
      this.#pending.push({ write, patience, until: undefined, resolve, reject })
      this.#working ??= this.#work()
    })
  }

  writeAmongOthers<T>(write: Write<T>): Promise<T> {
    return this.write(write)
  }

  async close(): Promise<void> {
    this.#closed = true
    await this.#working
  }

  async #work(): Promise<void> {
    while (this.#pending.length > 0) {
      await this.#gather()
      const batch = this.#pending
      this.#pending = []
      const fault = await this.#commit(batch)
      if (isBusy(fault)) await this.#postpone(batch, fault)
      else if (fault !== undefined) await this.#commitEach(batch, fault)
    }
    this.#working = undefined
  }

  // Later writes join the transaction.
  async #gather(): Promise<void> {
    for (let turn = 0, before = 0; turn < MAX_TURNS && this.#pending.length > before; turn++) {
      before = this.#pending.length
      await new Promise((resolve) => setImmediate(resolve))
    }
  }

  // A database error rolls back the whole transaction, though only one write may have caused it.
  async #commitEach(batch: readonly Pending[], fault: unknown): Promise<void> {
    if (batch.length === 1) return batch[0]!.reject(fault)
    for (const [index, each] of batch.entries()) {
      const own = await this.#commit([each])
      if (isBusy(own)) return await this.#postpone(batch.slice(index), own)
      if (own !== undefined) each.reject(own)
    }
  }

  // SQLite's busy timeout would block the event loop.
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

  // Returns the error that rolled back the transaction.
  async #commit(batch: readonly Pending[]): Promise<unknown> {
    const settle: (() => void)[] = []
    try {
      this.#requireFile()
      await this.#db.transaction().execute(async (trx) => {
        for (const { write, resolve, reject } of batch) {
          try {
            const written = write(trx)
            const value = isPromise(written) ? await written : written
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
