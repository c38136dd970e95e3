import { createServer, type ServerResponse } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { newSecret } from '../../src/webhooks/send-message.ts'
import { Webhook } from 'standardwebhooks'

/** A message that a receiver got. */
export interface Received {
  readonly id: string
  readonly type: string
  readonly runId: string
  /** Whether the library of Standard Webhooks verified it. */
  readonly isVerified: boolean
  readonly headers: Record<string, string>
  readonly body: string
}

/** Answers the message with this number, from 1. */
type Answer = (message: Received, count: number, reply: ServerResponse) => unknown

const take: Answer = (_message, _count, reply) => reply.writeHead(204).end()

/** A receiver of webhooks on a free port until the test ends. */
export async function createWebhookReceiver(t: { teardown(fn: () => unknown): unknown }, answer = take) {
  const secret = newSecret()
  const all: Received[] = []
  const waiters = new Set<() => void>()
  const server = createServer(async (request, reply) => {
    let body = ''
    for await (const chunk of request) body += String(chunk)
    const headers = request.headers as Record<string, string>
    const { type, data } = JSON.parse(body) as { type: string; data: { runId: string } }
    let isVerified = true
    try {
      new Webhook(secret).verify(body, headers)
    } catch {
      isVerified = false
    }
    all.push({ id: headers['webhook-id']!, type, runId: data.runId, isVerified, headers, body })
    answer(all.at(-1)!, all.length, reply)
    for (const wake of waiters) wake()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return {
    all,
    secret,
    url: `http://127.0.0.1:${port}/hook`,
    /** Resolves once that many have arrived. */
    until(count: number): Promise<Received[]> {
      const { promise, resolve } = Promise.withResolvers<Received[]>()
      const look = () => {
        if (all.length < count) return
        waiters.delete(look)
        resolve(all)
      }
      waiters.add(look)
      look()
      return promise
    }
  }
}
