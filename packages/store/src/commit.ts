import { isExposed, type Awaitable } from '@svc/contract'
import type { Transaction } from 'kysely'
import type { Tables } from './tables.ts'

/** A write within a transaction. If it throws before writing anything, only this write fails. */
export type Write<T> = (trx: Transaction<Tables>) => Awaitable<T>

/** Commits writes, so that each sees all that were committed before it, as if there were one writer. */
export interface Commit {
  /** Milliseconds that the writes of a run in progress wait for a database that does not answer. */
  readonly outage: number
  /** True if other processes write too: a write must lock the rows of others that it depends on. */
  readonly isShared: boolean
  /**
   * Resolves with the result of the write once it is committed. A write may run several times, but is committed once.
   * @param patience milliseconds to wait for a database that does not answer or is locked; default 5,000
   */
  write<T>(write: Write<T>, patience?: number): Promise<T>
  /**
   * As `write`, but others may commit between its statements, each of which sees what was committed before it: for frequent writes that are
   * correct all the same, so that none is repeated because of another.
   */
  writeAmongOthers<T>(write: Write<T>): Promise<T>
  /** Commits pending writes and refuses later ones. */
  close(): Promise<void>
}

/** A write refused by the store's own rules, not by the database. */
export class Refused extends Error {
  readonly reason: Error

  constructor(reason: Error) {
    super(reason.message)
    this.reason = reason
  }
}

/** Passes an error on, as a refusal if clients can see it. */
export function refuse(err: unknown): never {
  throw isExposed(err) ? new Refused(err) : err
}

/** The default patience of a write, in milliseconds. */
export const PATIENCE = 5_000
