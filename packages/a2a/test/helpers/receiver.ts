import { createServer, type IncomingHttpHeaders } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'

/** A received notification. */
export interface Received {
  path: string
  headers: IncomingHttpHeaders
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into it by `match`
  body: any
}

/** The status of an answer, or a redirect. */
type Answer = number | { status: number; location: string }

/** A receiver of push notifications on a free port, until the test ends; `answer` returns the status of each answer. */
export async function createReceiver(
  t: { teardown(fn: () => unknown): unknown },
  answer: (received: Received, count: number) => Answer | Promise<Answer> = () => 204
) {
  const all: Received[] = []
  const waiters: { count: number; resolve(): void }[] = []
  const wake = () => {
    for (const { count, resolve } of waiters) if (all.length >= count) resolve()
  }
  const server = createServer(async (request, reply) => {
    let text = ''
    for await (const chunk of request) text += String(chunk)
    const received = { path: request.url!, headers: request.headers, body: JSON.parse(text) as unknown }
    all.push(received)
    const answering = answer(received, all.length)
    // A notification counts before it is answered.
    if (answering instanceof Promise) wake()
    const given = await answering
    if (typeof given === 'number') reply.writeHead(given).end()
    else reply.writeHead(given.status, { location: given.location }).end()
    wake()
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
    port,
    url: `http://127.0.0.1:${port}`,
    /** Resolves once that many have arrived. */
    async until(count: number): Promise<Received[]> {
      if (all.length < count)
        await new Promise<void>((resolve) => waiters.push({ count, resolve: () => resolve() }))
      return all
    }
  }
}
