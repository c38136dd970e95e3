import { once } from 'node:events'
import http, { uploadPlugin } from '@svc/http'
import registryPlugin, { createRegistry } from '@svc/registry'
import Fastify from 'fastify'

/** A process of its own that takes uploads and tells its parent how much memory it has, and when a run keeps files. */
const registry = createRegistry()
registry.add({
  kind: 'agent',
  name: 'sizes',
  async *stream(input) {
    const parts = input as { type: string; file?: { size: number } }[]
    for (const { file } of parts) if (file) yield { type: 'text', text: `${file.size} ` }
  }
})
registry.add({
  kind: 'agent',
  name: 'holds',
  async *stream(_input, { signal }) {
    process.send?.('holding')
    await once(signal, 'abort')
    yield { type: 'text', text: 'not reached' }
  }
})
const app = Fastify({ forceCloseConnections: true })
await app.register(registryPlugin, { registry })
await app.register(http, { prefix: '/api', fileUpload: true })
await app.register(uploadPlugin())
app.post('/up', ({ uploads }) => uploads?.files.map(({ size }) => size))
const origin = await app.listen({ port: 0, host: '127.0.0.1' })
let peak = 0
const timer = setInterval(() => (peak = Math.max(peak, process.memoryUsage.rss())), 5)

process.on('message', (message) => {
  if (message === 'stop') {
    clearInterval(timer)
    process.disconnect()
    void app.close()
    return
  }
  const rss = process.memoryUsage.rss()
  process.send?.({ rss, peak: Math.max(peak, rss) })
  peak = 0
})
process.send?.({ origin })
