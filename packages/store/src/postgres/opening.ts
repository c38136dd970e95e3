import type { PostgresOptions } from '../options.ts'
import { isCurrent, migrate } from './migrations/migrate.ts'
import type { Connections } from './open-pool.ts'
import { onOne } from './with-connection.ts'

// Milliseconds for which a failed attempt answers for others.
const PAUSE = 250
// Milliseconds: another process may be migrating, and large tables take their time.
const MIGRATION_TIMEOUT = 600_000

/** Applies pending migrations once the server can be reached: at the first attempt that succeeds. */
export class Opening {
  readonly #connections: Connections
  readonly #options: PostgresOptions
  #opened: Promise<void> | undefined

  constructor(connections: Connections, options: PostgresOptions) {
    this.#connections = connections
    this.#options = options
  }

  /** Resolves at once if the database is open; else tries to open it. @throws why it could not be opened */
  ready(): Promise<void> {
    return (this.#opened ??= this.#open())
  }

  async #open(): Promise<void> {
    try {
      if (!(await this.#isCurrent())) await this.#migrate()
    } catch (err) {
      setTimeout(() => (this.#opened = undefined), PAUSE).unref()
      throw err
    }
  }

  async #isCurrent(): Promise<boolean> {
    const client = await this.#connections.pool.connect()
    try {
      return await isCurrent(onOne(client), this.#options.schema)
    } finally {
      client.release()
    }
  }

  async #migrate(): Promise<void> {
    const client = this.#connections.createClient({ query_timeout: MIGRATION_TIMEOUT })
    await client.connect()
    try {
      await migrate(onOne(client), this.#options.schema)
    } finally {
      await client.end()
    }
  }
}
