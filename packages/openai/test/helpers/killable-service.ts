import { writeSync } from 'node:fs'
import openAi from '@svc/openai'
import registryPlugin, { createRegistry } from '@svc/registry'
import { Agent } from '@svc/runtime'
import { scriptedModel } from '@svc/runtime/testing'
import store from '@svc/store'
import Fastify from 'fastify'

// A service on one database file; it prints its port and runs until it is killed. Its model is a function of the prompt.
const [, , url = '', port = '0'] = process.argv
const registry = createRegistry()
const model = scriptedModel(({ prompt }) => {
  const text = JSON.stringify(prompt)
  if (text.includes('Oslo')) return 'You are there'
  if (text.includes('Where')) return { toolCalls: [{ toolName: 'locate', args: {} }] }
  return { text: ['one ', 'two ', 'three ', 'four'], delay: 150 }
})
new Agent({ name: 'support', model, registry })
const app = Fastify({ forceCloseConnections: true })
await app.register(store, { url })
await app.register(registryPlugin, { registry })
await app.register(openAi, { prefix: '/v1', clientTools: true })
await app.listen({ port: Number(port), host: '127.0.0.1' })
writeSync(1, `${(app.server.address() as { port: number }).port}\n`)
