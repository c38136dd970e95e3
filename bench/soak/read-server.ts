import a2a from '@svc/a2a'
import agUi from '@svc/ag-ui'
import gateway from '@svc/gateway'
import http from '@svc/http'
import mcp from '@svc/mcp'
import openai from '@svc/openai'
import registry, { createRegistry } from '@svc/registry'
import { Agent } from '@svc/runtime'
import { scriptedModel } from '@svc/runtime/testing'
import store from '@svc/store'
import uiStream from '@svc/ui-stream'
import Fastify from 'fastify'
import { addPulse } from './pulse.ts'

const KILOBYTE = 1_000
const MEGABYTE = 1_000_000

// A service with every wire, whose logs have so many megabytes: `url` is a database or `memory`. `/made` has their ids.
const [, , url = 'memory', size = '8'] = process.argv
const megabytes = Number(size)
const agents = createRegistry()

// Says all in small deltas, in a conversation.
const deltas = Array.from({ length: megabytes * KILOBYTE }, (_, n) => `${n} `.padEnd(KILOBYTE, 'x'))
const said = agents.add(
  new Agent({ name: 'said', register: false, model: scriptedModel({ text: deltas }, { record: false }) })
)
// Calls tools with results of a megabyte.
const called = agents.add({
  kind: 'agent',
  name: 'called',
  async *stream() {
    for (let left = megabytes; left > 0; left--) {
      const toolCallId = `call_${left}`
      yield { type: 'tool.call', toolCallId, toolName: 'read', args: {} }
      yield {
        type: 'tool.result',
        toolCallId,
        toolName: 'read',
        durationMs: 1,
        result: { text: 'y'.repeat(MEGABYTE) }
      }
    }
    yield { type: 'text', text: 'Done.' }
  }
})

const app = Fastify()
if (url !== 'memory') await app.register(store, { url })
await app.register(registry, { registry: agents, retention: { maxBytes: 1e9 }, drainTimeout: 0 })
await app.register(http)
await app.register(a2a, { basePath: '/a2a', agents: [said, called], exposeToolResults: true })
await app.register(mcp, { prefix: '/api' })
await app.register(uiStream, { prefix: '/api' })
await app.register(agUi, { prefix: '/api' })
await app.register(openai, { prefix: '/v1' })
await app.register(gateway)
const runs: Record<string, string> = {}
app.get('/made', () => runs)
addPulse(app)
await app.ready()

for (const runnable of [said, called]) {
  const run = await app.runs.start(runnable, 'Go.', { sessionId: 'large' })
  await run.result()
  runs[runnable.name] = run.runId
}
const content = Buffer.alloc(megabytes * MEGABYTE, 'z')
const file = await app.runs.stores.files!.put(runs['called']!, { mimeType: 'application/pdf', content })
runs['file'] = file!.fileId
console.log(await app.listen({ port: 0, host: '127.0.0.1' }))
process.once('SIGTERM', () => void app.close().then(() => process.exit()))
