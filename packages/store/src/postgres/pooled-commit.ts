import { setTimeout as pause } from 'node:timers/promises'
import { sql, type IsolationLevel, type Kysely } from 'kysely'
import { PATIENCE, Refused, type Commit, type Write } from '../commit.ts'
import { STO_ERR_CLOSED } from '../errors.ts'
import type { Tables } from '../tables.ts'
import { isAway, isPassing, toStoreError } from './faults.ts'
import { Writers } from './writers.ts'

// Milliseconds between two attempts: doubles from the first to the last.
const FIRST_PAUSE = 5
const LAST_PAUSE = 250

/**
 * Commits each write in a serializable transaction of its own, so that the code of a write may assume that it is the only one, as on SQLite.
 * A transaction that lost against another, or lost its connection, is repeated, unless it was committed and only the answer was lost.
 */
export class PooledCommit implements Commit {
  readonly isShared = true
  readonly outage: number
  readonly #db: Kysely<Tables>
  readonly #schema: string
  readonly #failingFor: () => number
  readonly #pending = new Set<Promise<unknown>>()
  readonly #writers = new Writers()
  #closed = false

  /**
   * @param outage see `Commit`
   * @param failingFor milliseconds for which the server has been away
   */
  constructor(db: Kysely<Tables>, schema: string, outage: number, failingFor: () => number) {
    this.#db = db
    this.#schema = schema
    this.outage = outage
    this.#failingFor = failingFor
  }

  write<T>(write: Write<T>, patience = PATIENCE): Promise<T> {
    return this.#track(write, patience, 'serializable')
  }

  writeAmongOthers<T>(write: Write<T>): Promise<T> {
    return this.#track(write, PATIENCE, 'read committed')
  }

  writeAlone<T>(name: string, write: Write<T>): Promise<T> {
    const lock = `svc ${name} ${this.#schema}`
    const locked: Write<T> = async (trx) => {
      await sql`select pg_advisory_xact_lock(hashtextextended(${lock}, 0))`.execute(trx)
      return write(trx)
    }
    // A serializable transaction would not see what was committed while it waited.
    return this.writeAmongOthers(locked)
  }

  #track<T>(write: Write<T>, patience: number, isolation: IsolationLevel): Promise<T> {
    if (this.#closed) return Promise.reject(new STO_ERR_CLOSED())
    const written = this.#repeat(write, patience, isolation)
    this.#pending.add(written)
    return written.finally(() => this.#pending.delete(written))
  }

  async close(): Promise<void> {
    this.#closed = true
    await Promise.allSettled(this.#pending)
  }

  async #repeat<T>(write: Write<T>, patience: number, isolation: IsolationLevel): Promise<T> {
    const until = performance.now() + patience
    const attempts = this.#writers.begin<T>()
    for (let wait = FIRST_PAUSE; ; wait = Math.min(wait * 2, LAST_PAUSE)) {
      try {
        const value = await this.#db
          .transaction()
          .setIsolationLevel(isolation)
          .execute((trx) => attempts.run(trx, async () => write(trx)))
        attempts.ended()
        return value
      } catch (err) {
        if (isAway(err)) attempts.lost()
        if (!isPassing(err) || performance.now() >= until || this.#failingFor() >= patience) {
          attempts.ended()
          throw err instanceof Refused ? err.reason : toStoreError(err)
        }
        await pause(wait * (0.5 + Math.random()))
      }
    }
  }
}
