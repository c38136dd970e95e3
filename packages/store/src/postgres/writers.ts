import { randomId } from '@svc/contract'
import { sql, type Transaction } from 'kysely'
import type { Tables } from '../tables.ts'

/**
 * Shows which transactions were committed although the answer to their commit was lost: each records a token in the row of a writer, which has
 * one transaction at a time. (Transaction ids cannot show it: a server that crashed gives them again.)
 */
export class Writers {
  // Rows without a transaction.
  readonly #free: string[] = []

  /** Begins the attempts to commit one write. */
  begin<T>(): Attempts<T> {
    return new Attempts(this.#free)
  }
}

/** The attempts to commit one write; at most one of them succeeds. */
export class Attempts<T> {
  readonly #free: string[]
  #writerId: string | undefined
  /** The results of attempts that may have been committed, by their tokens. */
  readonly #unknown = new Map<string, T>()
  #last: { readonly token: string; readonly value: T } | undefined

  constructor(free: string[]) {
    this.#free = free
  }

  /** Runs a write in a transaction, unless an earlier attempt was committed: then returns its result. */
  async run(trx: Transaction<Tables>, write: () => Promise<T>): Promise<T> {
    this.#last = undefined
    this.#writerId ??= this.#free.pop() ?? randomId()
    const known = this.#unknown.size === 0 ? undefined : await findToken(trx, this.#writerId)
    if (known !== undefined && this.#unknown.has(known)) return this.#unknown.get(known)!
    const token = randomId()
    // First: it waits for an attempt that the server has not ended yet, and fails if that is committed.
    await record(trx, this.#writerId, token)
    const value = await write()
    this.#last = { token, value }
    return value
  }

  /** The connection was lost: if only the commit was left, its outcome is unknown. */
  lost(): void {
    if (this.#last !== undefined) this.#unknown.set(this.#last.token, this.#last.value)
    // The server may keep the row of an unfinished attempt locked for a while.
    if (this.#unknown.size === 0) this.#writerId = undefined
  }

  /** No attempt follows. */
  ended(): void {
    if (this.#writerId !== undefined && this.#unknown.size === 0) this.#free.push(this.#writerId)
  }
}

async function findToken(trx: Transaction<Tables>, writerId: string): Promise<string | undefined> {
  const row = trx.selectFrom('writer').select('token').where('writer_id', '=', writerId)
  return (await row.executeTakeFirst())?.token
}

async function record(trx: Transaction<Tables>, writer_id: string, token: string): Promise<void> {
  const row = { token, seen_at: sql<Date>`clock_timestamp()` }
  await trx
    .insertInto('writer')
    .values({ writer_id, ...row })
    .onConflict((conflict) => conflict.column('writer_id').doUpdateSet(row))
    .execute()
}
