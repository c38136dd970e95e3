import { randomBytes } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { randomId } from '@svc/contract'
import type { Client } from 'pg'
import { textArray } from '../lane/binary-arrays.ts'
import { isRestarting } from '../query.ts'

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

/** What a message is about; its words are ids. */
export type Topic =
  | 'cancel'
  | 'enter'
  | 'follow'
  | 'input'
  | 'left'
  | 'log'
  | 'queue'
  | 'schedule'
  | 'steer'
  | 'turn'
  | 'visit'
  | 'watch'

type Listener = (ids: readonly string[]) => void

// Milliseconds between two notifications of a node at least, since each wakes every node.
const WINDOW = 5
const RECONNECT_PAUSE = 200
// NOTIFY takes payloads below 8,000 bytes.
const MAX_PAYLOAD = 7_800

/**
 * Short messages between the nodes, by NOTIFY; the sender does not get its own. Messages get lost while a node is disconnected, so
 * each listener must also find out without them.
 */
export class NodeChannel {
  readonly #channel: string
  readonly #connection: Connection
  readonly #sender = randomId()
  readonly #listeners = new Map<Topic, Set<Listener>>()
  readonly #reconnected = new Set<() => void>()
  #posted = new Map<Topic, Set<string>>()
  #next: Promise<void> | undefined
  #window: Promise<void> | undefined
  #closed = false
  #lockKey: string | undefined
  #fault: unknown

  /** @param schema nodes on the same schema of the same database share a channel */
  constructor(connect: Connect, schema: string) {
    this.#channel = `svc_${schema}`.slice(0, 63)
    this.#connection = new Connection(connect, async (client) => this.#opened(client))
    void this.#listen()
  }

  /**
   * The key of the advisory lock that the connection holds, another one for each connection: it is free once the connection is closed.
   * Undefined without a connection.
   */
  get lockKey(): string | undefined {
    return this.#lockKey
  }

  /** True if there is no connection because the server restarts. */
  get isRestarting(): boolean {
    return this.#lockKey === undefined && isRestarting(this.#fault)
  }

  /** Calls the listener with the ids of other nodes' messages, until the returned function is called. */
  on(topic: Topic, listener: Listener): () => void {
    const listeners = this.#listeners.get(topic) ?? new Set()
    this.#listeners.set(topic, listeners.add(listener))
    return () => listeners.delete(listener)
  }

  /** Calls the listener after each new connection: earlier messages may be lost. */
  onReconnect(listener: () => void): void {
    this.#reconnected.add(listener)
  }

  /** Sends ids to all other nodes; those of some milliseconds together. Resolves once they are sent or lost. */
  post(topic: Topic, ids: Iterable<string>): Promise<void> {
    const posted = this.#posted.get(topic) ?? new Set()
    this.#posted.set(topic, posted)
    // A repeated id counts as posted last, so that ids arrive in the order of their last posts.
    for (const id of ids) {
      posted.delete(id)
      posted.add(id)
    }
    return (this.#next ??= this.#sendNext())
  }

  async close(): Promise<void> {
    await this.#next
    this.#closed = true
    await this.#connection.close()
  }

  async #sendNext(): Promise<void> {
    await this.#window
    await new Promise((resolve) => setImmediate(resolve))
    const posted = this.#posted
    this.#posted = new Map()
    this.#next = undefined
    const sent = this.#send(posted)
    this.#window = sent.then(() => pause(WINDOW, undefined, { ref: false }))
    await sent
  }

  async #send(posted: ReadonlyMap<Topic, ReadonlySet<string>>): Promise<void> {
    const payloads = [...posted].flatMap(([topic, ids]) => toPayloads(`${this.#sender} ${topic}`, ids))
    try {
      const client = await this.#connection.get()
      await client.query({
        name: 'svc notify',
        text: 'select pg_notify($1, payload) from unnest($2::text[]) as t(payload)',
        values: [this.#channel, textArray(payloads)]
      })
    } catch {
      this.#connection.drop()
    }
  }

  async #opened(client: Client): Promise<void> {
    client.on('notification', ({ payload }) => this.#receive(payload ?? ''))
    client.on('error', (err) => (this.#fault = err))
    const key = randomBytes(8).readBigInt64BE().toString()
    client.on('end', () => {
      if (this.#lockKey === key) this.#lockKey = undefined
      void this.#listen()
    })
    await client.query(`listen "${this.#channel.replaceAll('"', '""')}"`)
    await client.query('select pg_advisory_lock($1::bigint)', [key])
    this.#lockKey = key
    this.#fault = undefined
  }

  async #listen(): Promise<void> {
    while (!this.#closed) {
      try {
        await this.#connection.get()
        for (const listener of this.#reconnected) listener()
        return
      } catch (err) {
        this.#fault = err
        await pause(RECONNECT_PAUSE, undefined, { ref: false })
      }
    }
  }

  #receive(payload: string): void {
    const [sender, topic, ...ids] = payload.split(' ')
    if (sender === this.#sender) return
    for (const listener of this.#listeners.get(topic as Topic) ?? []) listener(ids)
  }
}

function toPayloads(head: string, ids: ReadonlySet<string>): string[] {
  const payloads: string[] = []
  let payload = head
  for (const id of ids) {
    if (Buffer.byteLength(payload) + Buffer.byteLength(id) + 1 > MAX_PAYLOAD) {
      payloads.push(payload)
      payload = head
    }
    payload += ` ${id}`
  }
  payloads.push(payload)
  return payloads
}
