import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout } from 'node:timers/promises'
import a2a from '@svc/a2a'
import http from '@svc/http'
import registry, { createRegistry } from '@svc/registry'
import { Workflow } from '@svc/runtime'
import store from '@svc/store'
import Fastify from 'fastify'

const MEGABYTE = 1_000_000

// A service whose runs gave large results, and wait with large arguments: `url` is a database or `memory`; `fill` makes them.
// `/pulse` reports the longest stall of its event loop in milliseconds since the last request, how much CPU time a turn
// had at most, and what is resident.
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
const delay = monitorEventLoopDelay({ resolution: 1 })
delay.enable()
// What else runs on the machine does not count here.
let used = threadTime()
let longest = 0
setInterval(() => {
  const before = used
  used = threadTime()
  longest = Math.max(longest, used - before)
}, 1)
app.get('/pulse', async () => {
  const found = { stop: delay.max / 1e6, turn: longest }
  globalThis.gc?.()
  // The collection is behind us when this comes.
  await setTimeout(100)
  delay.reset()
  longest = 0
  return { ...found, rss: process.memoryUsage.rss() }
})
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

// Milliseconds of CPU time of the thread.
function threadTime(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1e3
}
