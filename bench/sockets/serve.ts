import { once } from 'node:events'
import { setTimeout as wait } from 'node:timers/promises'
import Fastify, { type FastifyInstance } from 'fastify'
import { Server } from 'socket.io'
import { serveMemory } from '../memory-route.ts'
import { ANSWER, CHUNKS } from '../quick.ts'

// A Socket.IO server to measure: ours, or a bare one that sends the same.
const usage = { promptTokens: 10, completionTokens: 20, totalTokens: 30 }
const app = Fastify()
if (process.argv[2] === 'gateway') await (await import('./serve-gateway.ts')).serveGateway(app)
else serveBare(app)
serveMemory(app)
console.log(await app.listen({ port: 0, host: '127.0.0.1' }))
await once(process, 'disconnect').catch(() => {})

function serveBare({ server }: FastifyInstance): void {
  const io = new Server(server, { serveClient: false })
  io.on('connection', (socket) => {
    let runs = 0
    socket.on('agent.run', async ({ name }: { name: string }, ack: (answer: object) => void) => {
      const runId = `f47ac10b-58cc-4372-a567-${String(++runs).padStart(12, '0')}`
      ack({ runId })
      let seq = 2
      for (const chunk of CHUNKS) {
        if (name.endsWith('paced')) await wait(1)
        socket.emit('agent.chunk', { chunk, runId, seq: ++seq })
      }
      const output = {
        text: ANSWER,
        structured: null,
        usage,
        durationMs: 0.123,
        finishReason: 'stop'
      }
      socket.emit('agent.done', { output, runId, seq: seq + 2 })
    })
  })
}
