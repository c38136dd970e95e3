import type { Writable } from 'node:stream'
import type { Socket } from 'socket.io'

type Connection = Socket['conn']
/** What of a connection, private to its type, says how much waits, and where a WebSocket writes its frames. */
interface Inner {
  writeBuffer: readonly unknown[]
  transport: { socket?: { _socket?: Pick<Writable, 'cork' | 'uncork'> | null } }
}

/**
 * Tells when a connection takes more: when nothing waits behind what is on its way. Who waits is called one at a time, so that
 * what is held for a client that does not read is what two of them wrote.
 */
export class Outlet {
  readonly #connection: Connection
  #waiting: (() => void)[] = []
  #stop: (() => void) | undefined
  #corked: Pick<Writable, 'uncork'> | undefined

  constructor(connection: Connection) {
    this.#connection = connection
    connection.on('flush', this.#cork)
    connection.on('drain', this.#uncork)
  }

  get writable(): boolean {
    return this.#inner.writeBuffer.length === 0
  }

  get #inner(): Inner {
    return this.#connection as unknown as Inner
  }

  // Between the two, all that waits is written: with one system call for all frames, not with one for each.
  readonly #cork = () => {
    const { _socket: tcp } = this.#inner.transport.socket ?? {}
    tcp?.cork()
    this.#corked = tcp ?? undefined
  }

  readonly #uncork = () => {
    this.#corked?.uncork()
    this.#corked = undefined
  }

  /** Calls back once, when there is room. */
  onWritable(callback: () => void): void {
    this.#waiting.push(callback)
    if (this.#stop === undefined) this.#listen()
  }

  close(): void {
    this.#waiting = []
    this.#stop?.()
    this.#stop = undefined
    this.#connection.off('flush', this.#cork)
    this.#connection.off('drain', this.#uncork)
    this.#uncork()
  }

  // A connection that began with polling may go on as a WebSocket.
  #listen(): void {
    const connection = this.#connection
    const { transport } = connection
    const wake = () => this.#wake()
    transport.on('ready', wake)
    connection.on('upgrade', wake)
    this.#stop = () => {
      transport.off('ready', wake)
      connection.off('upgrade', wake)
    }
  }

  #wake(): void {
    this.#stop?.()
    this.#stop = undefined
    while (this.writable && this.#waiting.length > 0) this.#waiting.shift()!()
    if (this.#waiting.length > 0 && this.#stop === undefined) this.#listen()
  }
}
