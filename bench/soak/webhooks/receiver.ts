import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { Webhook } from 'standardwebhooks'
import type { Random } from '../random.ts'

/** The requests for one event of a run, at one webhook. */
interface Message {
  readonly ids: Set<string>
  requests: number
  taken: boolean
}

const HTTP = 'HTTP/1.1'
// The share of requests that are not taken at once.
const TROUBLE = 0.4

/** A receiver that answers 500, redirects, drops connections, answers twice, or hangs. */
export class MoodyReceiver {
  readonly #random: Random
  readonly #verifier: Webhook
  readonly #server: Server
  readonly #messages = new Map<string, Message>()
  unverified = 0
  early = 0

  constructor(random: Random, secret: string) {
    this.#random = random
    this.#verifier = new Webhook(secret)
    this.#server = createServer((request, reply) => {
      void text(request).then((body) => this.#receive(request.url!, request.headers, body, reply))
    })
  }

  async listen(): Promise<string> {
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  close(): void {
    this.#server.closeAllConnections()
    this.#server.close()
  }

  /** True if the event of a run was taken at this path. */
  has(path: string, runId: string, event: string): boolean {
    return this.#messages.get(`${path} ${runId} ${event}`)?.taken === true
  }

  get counts(): { messages: number; repeated: number; renamed: number } {
    const all = [...this.#messages.values()]
    const requests = all.reduce((sum, each) => sum + each.requests, 0)
    return {
      messages: all.length,
      repeated: requests - all.length,
      renamed: all.filter(({ ids }) => ids.size > 1).length
    }
  }

  #receive(path: string, headers: IncomingHttpHeaders, body: string, reply: ServerResponse): void {
    try {
      this.#verifier.verify(body, headers as Record<string, string>)
    } catch {
      this.unverified++
    }
    const { type, data } = JSON.parse(body) as { type: string; data: { runId: string } }
    const key = `${path} ${data.runId} ${type}`
    const message = this.#messages.get(key) ?? { ids: new Set<string>(), requests: 0, taken: false }
    this.#messages.set(key, message)
    message.ids.add(String(headers['webhook-id']))
    message.requests++
    if (type === 'run.completed' && !this.has(path, data.runId, 'run.input-required')) this.early++
    this.#answer(message, reply)
  }

  #answer(message: Message, reply: ServerResponse): void {
    if (!this.#random.chance(TROUBLE)) {
      message.taken = true
      reply.writeHead(204).end()
      return
    }
    // With the last one the connection hangs.
    const mood = this.#random.pick(['error', 'redirect', 'drop', 'answer twice', 'hang'])
    if (mood === 'error') reply.writeHead(500).end()
    else if (mood === 'redirect') reply.writeHead(307, { location: '/elsewhere' }).end()
    else if (mood === 'drop') reply.destroy()
    else if (mood === 'answer twice')
      reply.socket?.end(`${HTTP} 503 No\r\ncontent-length: 0\r\n\r\n${HTTP} 204 Yes\r\n\r\n`)
  }
}
