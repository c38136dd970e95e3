import a2a from '@svc/a2a'
import http from '@svc/http'
import registry, { createRegistry } from '@svc/registry'
import { Workflow } from '@svc/runtime'
import store from '@svc/store'
import Fastify from 'fastify'
import { addPulse } from './pulse.ts'

const MEGABYTE = 1_000_000

// A service whose runs gave large results, and wait with large arguments: `url` is a database or `memory`; `fill` makes them.
const [, , url = '', fill = '0'] = process.argv
const agents = createRegistry()
const big = agents.add({
  kind: 'agent',
  name: 'big',
  async *stream(input) {
    for (let left = Number(input); left > 0; left--) yield { type: 'text', text: 'x'.repeat(MEGABYTE) }
  }
})
const asking = new Workflow({
  name: 'asking',
  registry: agents,
  steps: (flow) =>
    flow.wait('consent', { approval: { args: () => ({ text: 'y'.repeat(MEGABYTE) }), timeout: 3_600_000 } })
})

// Waiting runs resume at the start: all of them are loaded.
const app = Fastify({ pluginTimeout: 300_000 })
if (url !== 'memory') await app.register(store, { url })
await app.register(registry, {
  registry: agents,
  limits: { maxRuns: 10_000 },
  retention: { maxBytes: 1e9 },
  drainTimeout: 0
})
await app.register(http)
await app.register(a2a, { basePath: '/a2a', agents: [big, asking] })
addPulse(app)
await app.ready()

const count = Number(fill)
if (count > 0) {
  for (let index = 0; index < 100; index++) await (await app.runs.start(big, '1')).result()
  await (await app.runs.start(big, '60')).result()
  for (let index = 0; index < count; index++) {
    const run = await app.runs.start(asking, 'Go.')
    for await (const part of run.parts()) if (part.type === 'tool.approval.request') break
  }
}
console.log(await app.listen({ port: 0, host: '127.0.0.1' }))
process.once('SIGTERM', () => void app.close().then(() => process.exit()))
