import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'

/** Serves pages, HTML by path, on 127.0.0.1; a listener answers the other paths. */
export async function servePages(
  t: { teardown(close: () => unknown): void },
  pages: Readonly<Record<string, string>>,
  other: RequestListener = (_request, reply) => reply.writeHead(404).end()
): Promise<string> {
  const server = createServer((request, reply) => {
    const html = pages[new URL(request.url!, 'http://page').pathname]
    if (html === undefined) return other(request, reply)
    reply.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(html)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
