import type { Socket } from 'node:net'

/** Maximum size of a chunk that Node.js reads. */
const CHUNK = 65_536
/** Bytes; more than a WebSocket close frame. */
const CLOSE_FRAME = 1_000

/**
 * Counts the bytes of a connection before authentication. Beneath a WebSocket this includes unfinished messages and pings.
 */
export class Intake {
  bytes = 0
  /** Whether the limit applies. */
  bounded = true
  readonly #socket: Socket | undefined

  /** @param socket the TCP socket beneath a WebSocket, destroyed when it exceeds the limit */
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

  /** Accepts a close frame and nothing else. */
  end(): void {
    const socket = this.#socket
    socket?.on('data', ({ length }: Buffer) => {
      if (length > CLOSE_FRAME) socket.pause()
    })
  }
}
