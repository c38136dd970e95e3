import type { Client } from 'pg'

/** Opens a connection. @throws the database's error */
export type Connect = () => Promise<Client>

/** One connection, opened when it is needed, and again after it was lost. */
export class Connection {
  readonly #connect: Connect
  readonly #onOpen: ((client: Client) => Promise<void>) | undefined
  #client: Promise<Client> | undefined
  #closed = false

  /** @param onOpen prepares each new connection before it is used */
  constructor(connect: Connect, onOpen?: (client: Client) => Promise<void>) {
    this.#connect = connect
    this.#onOpen = onOpen
  }

  /** The connection. @throws the database's error if it cannot be opened */
  get(): Promise<Client> {
    if (this.#closed) return Promise.reject(new Error('Client was closed'))
    if (this.#client !== undefined) return this.#client
    const opening: Promise<Client> = this.#open(() => {
      if (this.#client === opening) this.#client = undefined
    })
    return (this.#client = opening)
  }

  /** Closes the connection without waiting; the next `get` opens another. */
  drop(): void {
    void this.#end()
  }

  /** Closes the connection for good. */
  async close(): Promise<void> {
    this.#closed = true
    await this.#end()
  }

  async #end(): Promise<void> {
    const client = this.#client
    this.#client = undefined
    try {
      await (await client)?.end()
    } catch {
      // It was never open, or lost before.
    }
  }

  async #open(lost: () => void): Promise<Client> {
    try {
      const client = await this.#connect()
      client.on('error', lost).on('end', lost)
      await this.#onOpen?.(client)
      return client
    } catch (err) {
      lost()
      throw err
    }
  }
}
