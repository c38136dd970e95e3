import { Kysely, PostgresDialect } from 'kysely'
import type { PostgresOptions } from '../options.ts'
import type { Connections } from './open-pool.ts'
import { migrate } from './migrations/migrate.ts'

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
      await this.#migrate()
    } catch (err) {
      setTimeout(() => (this.#opened = undefined), PAUSE).unref()
      throw err
    }
  }

  async #migrate(): Promise<void> {
    const client = this.#connections.createClient({ query_timeout: MIGRATION_TIMEOUT })
    await client.connect()
    try {
      const only = {
        options: {},
        connect: async () => Object.assign(client, { release: () => {} }),
        end: async () => {}
      }
      await migrate(new Kysely({ dialect: new PostgresDialect({ pool: only }) }), this.#options.schema)
    } finally {
      await client.end()
    }
  }
}
