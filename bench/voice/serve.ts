import { once } from 'node:events'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as wait } from 'node:timers/promises'
import realtime from '@svc/realtime'
import registry from '@svc/registry'
import { fvad } from '@svc/voice'
import Fastify from 'fastify'
import type { ServerState } from './listening.ts'
import { createPhone } from './phone.ts'

// A server to measure that takes calls over the Realtime API.
const delays = monitorEventLoopDelay({ resolution: 1 })
const app = Fastify()
await app.register(registry)
await app.register(realtime, {
  prefix: '/v1',
  agents: [createPhone('It jumps over the dog.', { turns: { detect: fvad() } })]
})
app.get('/state', async (): Promise<ServerState> => {
  delays.disable()
  const longest = delays.max / 1e6
  delays.reset()
  for (const _ of [1, 2]) {
    gc!()
    await wait(50)
  }
  delays.enable()
  const { rss } = process.memoryUsage()
  return { rss, longestDelay: longest, runs: app.runs.active }
})
console.log(await app.listen({ port: 0, host: '127.0.0.1' }))
await once(process, 'disconnect').catch(() => {})
