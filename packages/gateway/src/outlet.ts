import type { Socket } from 'socket.io'

type Connection = Socket['conn']
/** What of a connection says how much is written and not sent. */
type Written = { transport: { writable: boolean }; writeBuffer: readonly unknown[] }

/**
 * Tells when a connection takes more: when all that was written to it is on its way. Who waits is called one at a time, so
 * that what is held for a client that does not read is what one of them wrote.
 */
export class Outlet {
  readonly #connection: Connection
  #waiting: (() => void)[] = []
  #stop: (() => void) | undefined

  constructor(connection: Connection) {
    this.#connection = connection
  }

  get writable(): boolean {
    // To its type, `writeBuffer` is private.
    const { transport, writeBuffer } = this.#connection as unknown as Written
    return transport.writable && writeBuffer.length === 0
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
