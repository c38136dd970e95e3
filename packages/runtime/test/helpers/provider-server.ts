import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'

interface Teardown {
  teardown(fn: () => unknown): void
}

/** A request to a provider. */
export interface Asked {
  readonly path: string
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: Readonly<Record<string, unknown>>
}

/** A provider's answer: the events of a stream, or a status with JSON. */
export type Answer =
  | readonly object[]
  | { readonly status: number; readonly json: object; readonly headers?: Record<string, string> }

/** A server that acts as a provider: each request gets the next answer, or that of a function. */
export async function startProviderServer(
  t: Teardown,
  answers: readonly Answer[] | ((asked: Asked, index: number) => Answer)
) {
  const asked: Asked[] = []
  const server = createServer((request, reply) => {
    let text = ''
    request.on('data', (chunk: Buffer) => (text += chunk.toString()))
    request.on('end', () => {
      const one: Asked = {
        path: request.url ?? '',
        headers: request.headers,
        body: JSON.parse(text) as Record<string, unknown>
      }
      const index = asked.push(one) - 1
      const answer =
        typeof answers === 'function' ? answers(one, index) : answers[Math.min(index, answers.length - 1)]!
      if ('status' in answer) {
        reply.writeHead(answer.status, { 'content-type': 'application/json', ...answer.headers })
        reply.end(JSON.stringify(answer.json))
        return
      }
      reply.writeHead(200, { 'content-type': 'text/event-stream' })
      for (const event of answer) {
        const { type } = event as { type?: string }
        reply.write(`${type === undefined ? '' : `event: ${type}\n`}data: ${JSON.stringify(event)}\n\n`)
      }
      reply.end()
    })
  })
  return { asked, origin: `http://${await listen(t, server)}` }
}

/** Serves one file; returns the host. */
export function startFileServer(t: Teardown, content: string): Promise<string> {
  return listen(
    t,
    createServer((_request, reply) => void reply.end(content))
  )
}

async function listen(t: Teardown, server: Server): Promise<string> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return `127.0.0.1:${(server.address() as AddressInfo).port}`
}
