import { EventEmitter, once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

/** A message as it came. */
export interface RawMessage {
  readonly headers: Record<string, string>
  readonly body: string
}

/** A receiver of webhooks on loopback until the test ends, which refuses the first attempt of each message. */
export async function receiveWebhooks(t: { teardown(fn: () => unknown): unknown }) {
  const all: RawMessage[] = []
  const refused = new Set<string>()
  const arrivals = new EventEmitter()
  const server = createServer((request, reply) => {
    const headers = request.headers as Record<string, string>
    const id = headers['webhook-id']!
    void text(request).then((body) => {
      all.push({ headers, body })
      reply.writeHead(refused.has(id) ? 204 : 503).end()
      refused.add(id)
      arrivals.emit('message')
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    /** Resolves once that many attempts have arrived. */
    async until(count: number): Promise<readonly RawMessage[]> {
      while (all.length < count) await once(arrivals, 'message')
      return all
    }
  }
}
