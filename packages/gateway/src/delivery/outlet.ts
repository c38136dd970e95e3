import type { Writable } from 'node:stream'
import type { Socket } from 'socket.io'

type Connection = Socket['conn']
/** Private members of a connection: its pending packets, and the TCP socket beneath a WebSocket. */
interface Inner {
  writeBuffer: readonly unknown[]
  transport: { socket?: { _socket?: Pick<Writable, 'cork' | 'uncork'> | null } }
}

/**
 * Signals when a connection accepts more: when its buffer is empty. Wakes waiting writers one at a time, so a client that
 * does not read costs the memory of at most two writes.
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

  // Engine.IO writes all pending frames between the two events: one system call instead of one per frame.
  readonly #cork = () => {
    const { _socket: tcp } = this.#inner.transport.socket ?? {}
    tcp?.cork()
    this.#corked = tcp ?? undefined
  }

  readonly #uncork = () => {
    this.#corked?.uncork()
    this.#corked = undefined
  }

  /** Calls back once, when the connection accepts more. */
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

  // A polling connection may upgrade to a WebSocket.
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
