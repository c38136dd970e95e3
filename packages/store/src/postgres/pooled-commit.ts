import { setTimeout as pause } from 'node:timers/promises'
import { sql, type Kysely } from 'kysely'
import { PATIENCE, Refused, type Commit, type Write } from '../commit.ts'
import { STO_ERR_CLOSED } from '../errors.ts'
import type { Tables } from '../tables.ts'
import { isAway, isConflict, isReadOnly, toStoreError } from './faults.ts'

// Milliseconds between two attempts: doubles from the first to the last.
const FIRST_PAUSE = 5
const LAST_PAUSE = 250

/**
 * Commits each write in a serializable transaction of its own, so that the code of a write may assume that it is the only one, as on SQLite.
 * A transaction that lost against another, or its connection, is repeated.
 */
export class PooledCommit implements Commit {
  readonly outage: number
  readonly isShared = true
  readonly #db: Kysely<Tables>
  readonly #failingFor: () => number
  readonly #pending = new Set<Promise<unknown>>()
  #closed = false

  /**
   * @param outage see `Commit`
   * @param failingFor milliseconds for which the server has been away
   */
  constructor(db: Kysely<Tables>, outage: number, failingFor: () => number) {
    this.#db = db
    this.outage = outage
    this.#failingFor = failingFor
  }

  write<T>(write: Write<T>, patience = PATIENCE): Promise<T> {
    if (this.#closed) return Promise.reject(new STO_ERR_CLOSED())
    const written = this.#repeat(write, patience)
    this.#pending.add(written)
    return written.finally(() => this.#pending.delete(written))
  }

  async close(): Promise<void> {
    this.#closed = true
    await Promise.allSettled(this.#pending)
  }

  async #repeat<T>(write: Write<T>, patience: number): Promise<T> {
    const until = performance.now() + patience
    for (let wait = FIRST_PAUSE; ; wait = Math.min(wait * 2, LAST_PAUSE)) {
      const attempt: Attempt<T> = { transactionId: undefined, value: undefined }
      try {
        return await this.#commit(write, attempt)
      } catch (err) {
        if (err instanceof Refused) throw err.reason
        const isPassing = isAway(err) || isConflict(err) || isReadOnly(err)
        if (!isPassing || performance.now() >= until || this.#failingFor() >= patience)
          throw toStoreError(err)
        await pause(wait * (0.5 + Math.random()))
        if (isAway(err) && (await this.#isCommitted(attempt, until))) return attempt.value as T
      }
    }
  }

  async #commit<T>(write: Write<T>, attempt: Attempt<T>): Promise<T> {
    return await this.#db
      .transaction()
      .setIsolationLevel('serializable')
      .execute(async (trx) => {
        const value = await write(trx)
        const { rows } = await sql<{
          id: string | null
        }>`select pg_current_xact_id_if_assigned()::text as id`.execute(trx)
        attempt.value = value
        attempt.transactionId = rows[0]?.id ?? undefined
        return value
      })
  }

  // Only the answer to the commit may have been lost.
  async #isCommitted(attempt: Attempt<unknown>, until: number): Promise<boolean> {
    const { transactionId } = attempt
    if (transactionId === undefined) return false
    for (;;) {
      try {
        const { rows } = await sql<{
          status: string | null
        }>`select pg_xact_status(${transactionId}::xid8) as status`.execute(this.#db)
        if (rows[0]?.status !== 'in progress') return rows[0]?.status === 'committed'
      } catch (err) {
        if (!isAway(err) || performance.now() >= until) throw toStoreError(err)
      }
      await pause(LAST_PAUSE)
    }
  }
}

/** What is known of an attempt whose commit may have succeeded. */
interface Attempt<T> {
  transactionId: string | undefined
  value: T | undefined
}
