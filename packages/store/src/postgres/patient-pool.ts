import { setTimeout as pause } from 'node:timers/promises'
import type { PostgresPool, PostgresPoolClient } from 'kysely'
import type { Pool, PoolClient } from 'pg'
import { PATIENCE } from '../commit.ts'
import { isAway, isLost, toStoreError } from './faults.ts'

// Milliseconds between two attempts.
const PAUSE = 100
const BEGIN = /^(?:begin|start transaction)\b/
// A transaction whose client was cut off keeps its locks no longer.
const LIMIT = `; set local idle_in_transaction_session_timeout = '15s'`
const READ = /^(?:select|with)\b/

/**
 * A pool for kysely that waits for a server that restarts: for a connection, and to repeat a read whose connection broke. Once the server has
 * been away for 5 seconds it fails at once.
 */
export class PatientPool implements PostgresPool {
  /** Kysely cancels queries with connections of these options; the store cancels none. */
  readonly options = {}
  readonly #pool: Pool
  readonly #ready: () => Promise<void>
  #failingSince: number | undefined

  /** @param ready rejects while the database cannot be opened */
  constructor(pool: Pool, ready: () => Promise<void>) {
    this.#pool = pool
    this.#ready = ready
  }

  /** Milliseconds since the server was first found away; 0 if it answered since. */
  get failingFor(): number {
    return this.#failingSince === undefined ? 0 : performance.now() - this.#failingSince
  }

  async connect(): Promise<PostgresPoolClient> {
    return new PatientClient(await this.repeat(() => this.#acquire()), this)
  }

  async end(): Promise<void> {
    await this.#pool.end()
  }

  /** Repeats an attempt while the server is away. @throws the store's error for that of the last attempt */
  async repeat<T>(attempt: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        const value = await attempt()
        this.#failingSince = undefined
        return value
      } catch (err) {
        if (!isAway(err)) throw toStoreError(err)
        this.#failingSince ??= performance.now()
        if (this.failingFor >= PATIENCE) throw toStoreError(err)
        await pause(PAUSE)
      }
    }
  }

  /** A connection of the pool as it is. */
  async reconnect(): Promise<PoolClient> {
    return await this.#acquire()
  }

  async #acquire(): Promise<PoolClient> {
    await this.#ready()
    return await this.#pool.connect()
  }
}

type Query = PostgresPoolClient['query']

class PatientClient implements PostgresPoolClient {
  readonly #pool: PatientPool
  #client: PoolClient | undefined
  #inTransaction = false
  #isBroken = false

  constructor(client: PoolClient, pool: PatientPool) {
    this.#client = client
    this.#pool = pool
  }

  query: Query = ((text: string, parameters: readonly unknown[]) => {
    if (BEGIN.test(text)) this.#inTransaction = true
    const send = () => this.#send(this.#inTransaction && BEGIN.test(text) ? text + LIMIT : text, parameters)
    return !this.#inTransaction && READ.test(text) ? this.#pool.repeat(send) : send()
  }) as Query

  release(destroy = false): void {
    this.#client?.release(destroy || this.#isBroken)
    this.#client = undefined
  }

  async #send(text: string, parameters: readonly unknown[]): Promise<unknown> {
    if (this.#isBroken && !this.#inTransaction) {
      this.release()
      this.#client = await this.#pool.reconnect()
      this.#isBroken = false
    }
    try {
      return await this.#client!.query(text, [...parameters])
    } catch (err) {
      // After a failover another server may be the primary.
      this.#isBroken ||= isLost(err)
      throw err
    }
  }
}
