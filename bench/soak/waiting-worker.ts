import Fastify from 'fastify'
import http from '@svc/http'
import registryPlugin, { createRegistry } from '@svc/registry'
import { Workflow } from '@svc/runtime'
import store from '@svc/store'

// Serves a workflow that waits for an approval, then says how long its input was. SIGTERM closes it.
const [, , url = ''] = process.argv
const registry = createRegistry()
new Workflow({
  name: 'gate',
  registry,
  steps: (flow) =>
    flow
      .step('before', () => 'asked')
      .wait('gate', { approval: { timeout: 3_600_000 } })
      .step('after', ({ input }) => String((input as string).length))
})
const app = Fastify({ bodyLimit: 1_048_576 })
await app.register(store, { url })
await app.register(registryPlugin, { registry })
await app.register(http)
process.once('SIGTERM', () => void app.close())
const address = await app.listen({ port: 0, host: '127.0.0.1' })
console.log(address)
