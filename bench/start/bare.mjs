import { Readable } from 'node:stream'
import Fastify from 'fastify'
import { Server } from 'socket.io'
import { listen } from './listen.mjs'

// What an app is without us: a route, a stream and sockets.
const app = Fastify()
new Server(app.server, { serveClient: false })
app.post('/api/agents/quick/run', async () => ({ text: 'Hello.' }))
app.post('/api/agents/quick/stream', (_request, reply) => {
  const frame = `data: ${JSON.stringify({ type: 'text', text: 'Hello.' })}\n\n`
  void reply.header('content-type', 'text/event-stream').send(Readable.from([frame]))
})
await listen(app)
