import { callNextTurn } from '@svc/contract'
import type { Socket } from 'socket.io'
import { encodeFrames, sendsFrames, type Packet, type Transport } from './frames.ts'

/** Private members of a connection. */
interface Connection {
  /** Pending packets. */
  readonly writeBuffer: Packet[]
  readonly transport: Transport
  write(data: string | undefined, options: object): void
  /** Sends pending packets if the transport is writable. */
  flush(): void
}

/** The socket of an outlet. */
type OutletSocket = Pick<Socket, 'conn' | 'emit' | 'listenersAnyOutgoing'>

/** Characters that are sent together before writers are held back. */
const FULL = 16_384
/** Shared by all packets; Engine.IO sets nothing else in it. */
const OPTIONS = { compress: true }

/**
 * What the runs of a socket have said in one turn of the event loop leaves at its end, with one system call. Signals when a connection
 * accepts more, and wakes waiting writers one at a time, so that a client that does not read costs the memory of at most two writes.
 */
export class Outlet {
  readonly #socket: OutletSocket
  /** What precedes the JSON of events; undefined if the server's parser is not Socket.IO's own. */
  readonly #prefix: string | undefined
  #waiting: (() => void)[] = []
  #stop: (() => void) | undefined
  // The work of the end of this turn.
  #due: (() => void)[] = []
  // While something is sent together: packets that become one, and their characters.
  #together: string[] | undefined
  #size = 0
  #corked: { uncork(): void } | undefined

  /** @param namespace undefined if packets have another encoding than Socket.IO's own */
  constructor(socket: OutletSocket, namespace: string | undefined) {
    this.#socket = socket
    this.#prefix = namespace === undefined ? undefined : `2${namespace === '/' ? '' : `${namespace},`}`
    const { conn } = socket
    conn.on('flush', this.#cork)
    conn.on('drain', this.#uncork)
  }

  get writable(): boolean {
    return this.#size === 0 ? this.#connection.writeBuffer.length === 0 : this.#size < FULL
  }

  get #connection(): Connection {
    return this.#socket.conn as unknown as Connection
  }

  /** Emits an event without binary data. @param json its name and payload, as a list */
  emit(json: string): void {
    const socket = this.#socket
    if (this.#prefix === undefined || socket.listenersAnyOutgoing().length > 0) {
      this.#sendTogether()
      return void socket.emit(...(JSON.parse(json) as [string, object]))
    }
    const packet = this.#prefix + json
    if (this.#together === undefined) return void socket.conn.write(packet, OPTIONS)
    this.#together.push(packet)
    this.#size += packet.length
  }

  /** Sends with one system call what `act` sends. */
  together(act: () => unknown): void {
    const { transport } = this.#connection
    if (this.#together !== undefined || !sendsFrames(transport)) return void act()
    const isIdle = transport.writable
    // Engine.IO would send the first packet at once.
    transport.writable = false
    this.#together = []
    try {
      act()
    } finally {
      this.#sendTogether()
      this.#together = undefined
      transport.writable = isIdle
      this.#connection.flush()
    }
  }

  #sendTogether(): void {
    if (this.#size === 0) return
    const wsPreEncodedFrame = [encodeFrames(this.#together!)]
    this.#together = []
    this.#size = 0
    this.#connection.write(undefined, { wsPreEncodedFrame })
  }

  /** Calls back at the end of this turn of the event loop; what all callbacks send leaves together. */
  atTurnEnd(callback: () => void): void {
    if (this.#due.push(callback) === 1) callNextTurn(this.#endTurn)
  }

  /** Calls back once, when the connection accepts more. */
  onWritable(callback: () => void): void {
    this.#waiting.push(callback)
    if (this.#stop === undefined) this.#listen()
  }

  close(): void {
    this.#waiting = []
    this.#due = []
    this.#stop?.()
    this.#stop = undefined
    const { conn } = this.#socket
    conn.off('flush', this.#cork)
    conn.off('drain', this.#uncork)
    this.#uncork()
  }

  readonly #endTurn = () => {
    const due = this.#due
    this.#due = []
    this.together(() => {
      for (const callback of due) callback()
    })
  }

  // Engine.IO writes all pending packets between the two events: one system call instead of one per frame.
  readonly #cork = (packets: readonly Packet[]) => {
    const { _socket: tcp } = this.#connection.transport.socket ?? {}
    if (packets.length === 1 || !tcp) return
    tcp.cork()
    this.#corked = tcp
  }

  readonly #uncork = () => {
    this.#corked?.uncork()
    this.#corked = undefined
  }

  // A polling connection may upgrade to a WebSocket.
  #listen(): void {
    const { conn } = this.#socket
    const { transport } = conn
    const wake = () => this.together(this.#wake)
    transport.on('ready', wake)
    conn.on('upgrade', wake)
    const stop = () => {
      transport.off('ready', wake)
      conn.off('upgrade', wake)
    }
    this.#stop = stop
  }

  readonly #wake = () => {
    this.#stop?.()
    this.#stop = undefined
    while (this.writable && this.#waiting.length > 0) this.#waiting.shift()!()
    if (this.#waiting.length > 0 && this.#stop === undefined) this.#listen()
  }
}
