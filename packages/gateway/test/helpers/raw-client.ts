import { once } from 'node:events'
import { WebSocket, type RawData } from 'ws'

/** A WebSocket that speaks Engine.IO and Socket.IO by hand, so that it can speak them badly. */
export class RawClient {
  readonly ws: WebSocket
  readonly received: string[] = []
  closed = false
  #onNews: (() => void) | undefined

  constructor(origin: string, { headers = {} }: { headers?: Record<string, string> } = {}) {
    const url = `${origin.replace('http', 'ws')}/socket.io/?EIO=4&transport=websocket`
    this.ws = new WebSocket(url, { headers, perMessageDeflate: false })
    this.ws.on('message', (data: RawData) => {
      const text = (data as Buffer).toString()
      // Engine.IO asks whether it lives.
      if (text === '2') this.ws.send('3')
      else this.received.push(text)
      this.#onNews?.()
    })
    this.ws.on('error', () => {})
    this.ws.on('close', () => {
      this.closed = true
      this.#onNews?.()
    })
  }

  /** Opens it and enters the namespace. */
  static async connect(origin: string): Promise<RawClient> {
    const client = new RawClient(origin)
    await once(client.ws, 'open')
    client.send('40')
    await client.until((text) => text.startsWith('40'))
    return client
  }

  send(data: string | Buffer): void {
    if (this.ws.readyState === WebSocket.OPEN) this.ws.send(data)
  }

  /** The first message that fits, or undefined when the server hangs up before. */
  async until(fits: (text: string) => boolean): Promise<string | undefined> {
    for (;;) {
      const found = this.received.find(fits)
      if (found !== undefined || this.closed) return found
      await new Promise<void>((resolve) => (this.#onNews = resolve))
    }
  }

  end(): void {
    this.ws.terminate()
  }
}
