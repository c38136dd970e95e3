import { once } from 'node:events'
import { setTimeout as wait } from 'node:timers/promises'
import gateway from '@svc/gateway'
import { createJwtAuthenticate, createScopeAuthorize } from '@svc/http'
import registry, { createRegistry } from '@svc/registry'
import { Agent } from '@svc/runtime'
import { scriptedModel } from '@svc/runtime/testing'
import Fastify, { type FastifyInstance } from 'fastify'
import { Server } from 'socket.io'
import { ANSWER, CHUNKS, SECRET } from '../variants.ts'
import type { Memory } from './memory.ts'

// A Socket.IO server to measure: ours, or a bare one that sends the same.
const usage = { promptTokens: 10, completionTokens: 20, totalTokens: 30 }
const app = Fastify()
if (process.argv[2] === 'gateway') await serveGateway(app)
else serveBare(app)
app.get('/memory', async (): Promise<Memory> => {
  // The second time takes what the first one's finalizers let go.
  for (const _ of [1, 2]) {
    gc!()
    await wait(50)
  }
  const { rss, heapUsed } = process.memoryUsage()
  return { rss, heap: heapUsed }
})
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

async function serveGateway(served: FastifyInstance): Promise<void> {
  const agents = createRegistry()
  for (const delay of [undefined, 1]) {
    const name = delay === undefined ? 'at-once' : 'paced'
    agents.add({ kind: 'agent', name, stream: () => saySlowly(delay) })
    const answer = { text: CHUNKS, usage, ...(delay !== undefined && { delay }) }
    new Agent({
      name: `agent-${name}`,
      model: scriptedModel(answer, { record: false }),
      registry: agents
    })
  }
  await served.register(registry, { registry: agents })
  await served.register(gateway, {
    authenticate: await createJwtAuthenticate({ secret: SECRET }),
    authorize: createScopeAuthorize({}),
    limits: { eventsPerSecond: 100_000 }
  })
}

async function* saySlowly(delay: number | undefined): AsyncGenerator<{ type: 'text'; text: string }> {
  for (const text of CHUNKS) {
    if (delay !== undefined) await wait(delay)
    yield { type: 'text', text }
  }
}
