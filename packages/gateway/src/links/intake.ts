import type { Socket } from 'node:net'

/** What Node hands on at once, at most. */
const CHUNK = 65_536
/** More than a client writes to close its WebSocket. */
const GOODBYE = 1_000

/**
 * The bytes that come for a connection until it is known who it is. Beneath a WebSocket it sees those of messages that are
 * never finished, and pings.
 */
export class Intake {
  bytes = 0
  /** Whether there is a limit. */
  bounded = true
  readonly #socket: Socket | undefined

  /** @param socket beneath a WebSocket, which is broken off when more comes than the limit */
  constructor(socket?: Socket, limit: () => number = () => 0) {
    this.#socket = socket
    if (socket === undefined) return
    const count = ({ length }: Buffer) => {
      this.bytes += length
      if (!this.bounded) socket.off('data', count)
      else if (this.bytes > limit() + CHUNK) socket.destroy()
    }
    socket.on('data', count)
  }

  /** Takes a goodbye, and nothing else. */
  end(): void {
    const socket = this.#socket
    socket?.on('data', ({ length }: Buffer) => {
      if (length > GOODBYE) socket.pause()
    })
  }
}
