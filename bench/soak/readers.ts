import { once } from 'node:events'
import { connect, type AddressInfo, type Socket } from 'node:net'
import http from '@svc/http'
import registry, { createRegistry } from '@svc/registry'
import Fastify from 'fastify'
import { heapInUse, type Finding } from './finding.ts'

const MEBIBYTE = 1_048_576
const PART = 50_000

/** So many clients that open the stream of one large run and never read: what each of them costs. */
export async function soakReaders(count: number, logBytes: number): Promise<Finding[]> {
  const agents = createRegistry()
  agents.add({
    kind: 'agent',
    name: 'big',
    async *stream() {
      const text = 'x'.repeat(PART)
      for (let sent = 0; sent < logBytes; sent += PART) yield { type: 'text', text }
    }
  })
  const app = Fastify()
  await app.register(registry, { registry: agents })
  await app.register(http)
  await app.listen({ port: 0, host: '127.0.0.1' })
  const { port } = app.server.address() as AddressInfo
  const run = await app.runs.start(agents.get('agent', 'big')!, 'go')
  await run.result()

  const before = heapInUse()
  const sockets: Socket[] = []
  for (let index = 0; index < count; index++) sockets.push(await openUnread(port, run.runId))
  // Nothing signals that a server has stopped writing: it has once its memory is stable.
  const cost = await settled(() => heapInUse() - before)
  for (const socket of sockets) socket.destroy()
  await app.close()
  const each = cost / count / MEBIBYTE
  return [{ what: `memory a reader that never reads, of ${count}`, value: each, limit: 1, unit: 'MiB' }]
}

async function openUnread(port: number, runId: string): Promise<Socket> {
  const socket = connect(port, '127.0.0.1')
  socket.pause()
  await once(socket, 'connect')
  socket.write(`GET /runs/${runId}/stream HTTP/1.1\r\nHost: localhost\r\n\r\n`)
  return socket
}

async function settled(measure: () => number): Promise<number> {
  for (let last = Number.NaN; ;) {
    await new Promise((resolve) => setTimeout(resolve, 500))
    const now = measure()
    if (Math.abs(now - last) < MEBIBYTE) return now
    last = now
  }
}
