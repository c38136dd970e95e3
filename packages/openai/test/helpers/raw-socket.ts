import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

/** A WebSocket that writes its frames by hand, so that they may be wrong, and answers nothing. */
export class RawSocket {
  readonly tcp: Socket
  /** What came after the handshake, or with it. */
  received: Buffer = Buffer.alloc(0)

  private constructor(tcp: Socket) {
    this.tcp = tcp
    tcp.on('data', (data: Buffer) => (this.received = Buffer.concat([this.received, data])))
    tcp.on('error', () => {})
  }

  /** Asks for a WebSocket; resolves with the answer. @param headers over the usual ones */
  static async open(origin: string, path: string, headers: Readonly<Record<string, string>> = {}) {
    const { hostname, port, host } = new URL(origin)
    const socket = new RawSocket(connect(Number(port), hostname))
    const lines = Object.entries({
      Host: host,
      Upgrade: 'websocket',
      Connection: 'Upgrade',
      'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
      'Sec-WebSocket-Version': '13',
      ...headers
    }).map(([name, value]) => `${name}: ${value}\r\n`)
    socket.tcp.write(`GET ${path} HTTP/1.1\r\n${lines.join('')}\r\n`)
    while (!socket.received.includes('\r\n\r\n')) await once(socket.tcp, 'data')
    if (!socket.received.includes('101 ')) return socket
    socket.received = socket.received.subarray(socket.received.indexOf('\r\n\r\n') + 4)
    return socket
  }

  /** A frame whose mask leaves the payload as it is. @param head the first byte, with `FIN` and the opcode (RFC 6455, section 5.2) */
  static frame(head: number, payload: Buffer): Buffer {
    const { length } = payload
    if (length < 126) return Buffer.concat([Buffer.from([head, 0x80 | length, 0, 0, 0, 0]), payload])
    const start = Buffer.from([head, 0x80 | 126, length >> 8, length & 0xff, 0, 0, 0, 0])
    return Buffer.concat([start, payload])
  }
}
