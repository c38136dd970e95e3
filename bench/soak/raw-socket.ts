import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

/** Opcodes of WebSocket frames. @see RFC 6455, section 5.2 */
export const OPCODE = { text: 1, binary: 2, ping: 9 } as const
type Opcode = (typeof OPCODE)[keyof typeof OPCODE]

/** A WebSocket that writes its frames by hand, so that it can leave one unfinished and never sends a close frame. */
export class RawSocket {
  readonly tcp: Socket
  /** Everything that came. */
  received = ''

  private constructor(tcp: Socket) {
    this.tcp = tcp
    tcp.setEncoding('latin1')
    tcp.on('data', (text: string) => (this.received += text))
    tcp.on('error', () => {})
  }

  /** Upgrades a connection to a WebSocket. @param query what Engine.IO is asked for */
  static async open(url: string, query = 'transport=websocket'): Promise<RawSocket> {
    const { hostname, port } = new URL(url)
    const tcp = connect(Number(port), hostname)
    const socket = new RawSocket(tcp)
    tcp.write(
      `GET /socket.io/?EIO=4&${query} HTTP/1.1\r\nHost: ${hostname}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n` +
        'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n'
    )
    await once(tcp, 'data')
    return socket
  }

  /** Sends a frame, or as much of it as `bytes` says. */
  async send(opcode: Opcode, payload: string | Buffer, bytes?: number): Promise<void> {
    const body = Buffer.from(payload as string)
    await this.write(Buffer.concat([head(opcode, body.length), body.subarray(0, bytes)]))
  }

  /** Resolves when there is room for more, or the other side has hung up. */
  async write(frames: Buffer): Promise<void> {
    if (!this.tcp.writable || this.tcp.write(frames)) return
    const ended = new Promise<void>((resolve) => this.tcp.once('close', () => resolve()))
    await Promise.race([once(this.tcp, 'drain').catch(() => {}), ended])
  }
}

// A mask of zeros leaves the payload as it is.
function head(opcode: Opcode, length: number): Buffer {
  const start = 0x80 | opcode
  if (length < 126) return Buffer.from([start, 0x80 | length, 0, 0, 0, 0])
  const long = Buffer.alloc(14)
  long[0] = start
  long[1] = 0x80 | 127
  long.writeBigUInt64BE(BigInt(length), 2)
  return long
}
