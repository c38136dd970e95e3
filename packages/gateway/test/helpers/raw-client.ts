import { once } from 'node:events'
import type { Socket as TcpSocket } from 'node:net'
import { WebSocket, type RawData } from 'ws'

interface RawClientOptions {
  headers?: Record<string, string>
  /** What Engine.IO is asked for. */
  query?: string
}

/** A WebSocket that speaks Engine.IO and Socket.IO by hand, so that it can speak them badly. */
export class RawClient {
  readonly ws: WebSocket
  readonly received: string[] = []
  closed = false
  /** Of the WebSocket, once it is closed; 1006 where the connection broke off. */
  closeCode: number | undefined
  #onNews: (() => void) | undefined

  constructor(origin: string, { headers = {}, query = 'transport=websocket' }: RawClientOptions = {}) {
    const url = `${origin.replace('http', 'ws')}/socket.io/?EIO=4&${query}`
    this.ws = new WebSocket(url, { headers, perMessageDeflate: false })
    this.ws.on('message', (data: RawData) => {
      const text = (data as Buffer).toString()
      // Engine.IO asks whether it lives.
      if (text === '2') this.ws.send('3')
      else this.received.push(text)
      this.#onNews?.()
    })
    this.ws.on('error', () => {})
    this.ws.on('close', (code) => {
      this.closed = true
      this.closeCode = code
      this.#onNews?.()
    })
  }

  /** Opens it. */
  static async open(origin: string, options?: RawClientOptions): Promise<RawClient> {
    const client = new RawClient(origin, options)
    await once(client.ws, 'open')
    return client
  }

  /** Opens it and enters a namespace. */
  static async connect(origin: string, namespace = ''): Promise<RawClient> {
    const client = await RawClient.open(origin)
    client.send(`40${namespace}`)
    await client.until((text) => text.startsWith('40'))
    return client
  }

  send(data: string | Buffer): void {
    if (this.ws.readyState === WebSocket.OPEN) this.ws.send(data)
  }

  /** Begins a message of a megabyte, and never ends it. */
  sendUnfinished(bytes: number): void {
    const { _socket: tcp } = this.ws as unknown as { _socket: TcpSocket }
    // A text frame, masked with zeros.
    tcp.write(Buffer.from([0x81, 0xff, 0, 0, 0, 0, 0, 0x0f, 0x42, 0x40, 0, 0, 0, 0]))
    tcp.write(Buffer.alloc(bytes, 'x'))
  }

  /** The first message that fits, or undefined when the server hangs up before. */
  async until(fits: (text: string) => boolean): Promise<string | undefined> {
    for (;;) {
      const found = this.received.find(fits)
      if (found !== undefined || this.closed) return found
      await new Promise<void>((resolve) => (this.#onNews = resolve))
    }
  }

  /** Resolves when the server has hung up. */
  async untilClosed(): Promise<void> {
    await this.until(() => false)
  }

  end(): void {
    this.ws.terminate()
  }
}
