import { writeSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import a2a from '@svc/a2a'
import gateway from '@svc/gateway'
import http from '@svc/http'
import registry, { createRegistry, type RunnableDefinition } from '@svc/registry'
import { pause } from '@svc/testing'
import { Workflow } from '@svc/runtime'
import store from '@svc/store'
import Fastify from 'fastify'

// A service as everybody makes it. It says its port; on SIGTERM it closes, says when its runs have ended, and exits by itself.
const [, , url = '', drainTimeout = ''] = process.argv
const RUNNABLES: RunnableDefinition[] = [
  {
    kind: 'agent',
    name: 'talker',
    async *stream(_input, { signal }) {
      for (let index = 0; index < 20; index++) {
        yield { type: 'text', text: `${index} ` }
        await pause(25, signal)
      }
    }
  },
  {
    kind: 'agent',
    name: 'asker',
    async *stream(_input, { approvals }) {
      const { approved } = await approvals.request({ toolCallId: 'c', toolName: 'send', args: {} })
      yield { type: 'text', text: String(approved) }
    }
  },
  {
    kind: 'agent',
    name: 'endless',
    async *stream(_input, { signal }) {
      yield { type: 'text', text: 'on and on' }
      await pause(600_000, signal)
    }
  }
]
const known = createRegistry()
for (const runnable of RUNNABLES) known.add(runnable)
new Workflow({
  name: 'flow',
  registry: known,
  steps: (flow) =>
    flow
      .step('first', () => 'first')
      .wait('allowed', { approval: { toolName: 'publish' } })
      .step('last', () => 'published')
})

const app = Fastify()
await app.register(store, { url })
await app.register(registry, {
  registry: known,
  drainTimeout: Number(drainTimeout),
  limits: { maxRuns: 10_000 }
})
await app.register(http, { prefix: '/api' })
await app.register(gateway, { limits: { runs: 1_000, eventsPerSecond: 1_000 } })
await app.register(a2a, { basePath: '/a2a' })
await app.listen({ port: 0, host: '127.0.0.1' })
app.runs.closed.addEventListener('abort', () => writeSync(1, `ended ${Date.now()}\n`))
process.once('SIGTERM', () => void app.close())
writeSync(1, `port ${(app.server.address() as AddressInfo).port}\n`)
