import { writeSync } from 'node:fs'
import a2a from '@svc/a2a'
import registryPlugin, { createRegistry } from '@svc/registry'
import store from '@svc/store'
import Fastify from 'fastify'

// A service on one database file; it prints its address and runs until it is killed. Its agents take as long as their input says.
const [, , url = '', milliseconds = ''] = process.argv
const registry = createRegistry()
for (const resumable of [true, false])
  registry.add({
    kind: 'agent',
    name: resumable ? 'lasting' : 'passing',
    resumable,
    async run() {
      await new Promise((resolve) => setTimeout(resolve, Number(milliseconds)))
      return 'done'
    }
  })
const app = Fastify()
await app.register(store, { url })
await app.register(registryPlugin, { registry })
await app.register(a2a, { pushNotifications: { allowPrivate: true, backoff: 5 } })
writeSync(1, `${await app.listen({ port: 0, host: '127.0.0.1' })}\n`)
