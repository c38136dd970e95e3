import { writeSync } from 'node:fs'
import registryPlugin, { createRegistry } from '@svc/registry'
import agUi from '@svc/ag-ui'
import { Agent } from '@svc/runtime'
import { scriptedModel } from '@svc/runtime/testing'
import store from '@svc/store'
import Fastify from 'fastify'
import { send } from './mail-tool.ts'

// A service on one database file; it prints its port and runs until it is killed. Its model is a function of the prompt.
const [, , url = '', port = '0'] = process.argv
const registry = createRegistry()
const model = scriptedModel(({ prompt }) => {
  const text = JSON.stringify(prompt)
  if (text.includes('sent to ann')) return 'Done'
  if (text.includes('Mail')) return { toolCalls: [{ toolName: 'send', args: { to: 'ann' } }] }
  return { text: ['one ', 'two ', 'three ', 'four'], delay: 150 }
})
new Agent({ name: 'support', model, registry, tools: [send] })
const app = Fastify({ forceCloseConnections: true })
await app.register(store, { url })
await app.register(registryPlugin, { registry })
await app.register(agUi, { prefix: '/api' })
await app.listen({ port: Number(port), host: '127.0.0.1' })
writeSync(1, `${(app.server.address() as { port: number }).port}\n`)
