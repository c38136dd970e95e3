import { writeSync } from 'node:fs'
import a2a from '@svc/a2a'
import registryPlugin, { createRegistry } from '@svc/registry'
import store from '@svc/store'
import Fastify from 'fastify'

// A service on one database file and port; it prints its address and runs until it is killed. Its agents ask before they answer.
const [, , url = '', port = ''] = process.argv
const registry = createRegistry()
registry.add({
  kind: 'agent',
  name: 'interviewer',
  resumable: true,
  async run(_input, context) {
    const name = await context.ask({ message: 'Your name?' })
    const age = await context.ask({ message: 'Your age?', schema: { type: 'integer' } as never })
    return `${String(name.content)} is ${String(age.content)}`
  }
})
registry.add({
  kind: 'agent',
  name: 'signer',
  resumable: true,
  async run(_input, context) {
    const { credentials } = await context.requestCredentials({ message: 'Sign in' })
    await context.ask({ message: 'Go on?' })
    return `${String(credentials?.reveal()).length} characters`
  }
})
const app = Fastify()
await app.register(store, { url })
await app.register(registryPlugin, { registry })
await app.register(a2a, {})
writeSync(1, `${await app.listen({ port: Number(port), host: '127.0.0.1' })}\n`)
