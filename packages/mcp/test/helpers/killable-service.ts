import { writeSync } from 'node:fs'
import { Type } from '@sinclair/typebox'
import registryPlugin, { createRegistry } from '@svc/registry'
import { Agent, defineTool } from '@svc/runtime'
import { scriptedModel } from '@svc/runtime/testing'
import store from '@svc/store'
import mcp from '@svc/mcp'
import Fastify from 'fastify'

// A service on one database file; it prints its port and runs until it is killed. Its model is a function of the prompt.
const [, , url = '', port = '0'] = process.argv
const registry = createRegistry()
const send = defineTool({
  name: 'send',
  description: 'Sends a mail',
  input: Type.Object({ to: Type.String() }),
  approval: true,
  execute: ({ to }) => `sent to ${to}`
})
const model = scriptedModel(({ prompt }) =>
  JSON.stringify(prompt).includes('sent to ann')
    ? 'Done'
    : { toolCalls: [{ toolName: 'send', args: { to: 'ann' } }] }
)
new Agent({ name: 'support', model, registry, tools: [send] })
const app = Fastify({ forceCloseConnections: true })
await app.register(store, { url })
await app.register(registryPlugin, { registry })
await app.register(mcp)
await app.listen({ port: Number(port), host: '127.0.0.1' })
writeSync(1, `${(app.server.address() as { port: number }).port}\n`)
