import { writeSync } from 'node:fs'
import openAi from '@svc/openai'
import registryPlugin, { createRegistry } from '@svc/registry'
import { Agent } from '@svc/runtime'
import { scriptedModel } from '@svc/runtime/testing'
import store from '@svc/store'
import Fastify from 'fastify'

// A service on one database file; it prints its port and runs until it is killed. Its model is a function of the prompt. Runs of `/v1` end
// with their process, those of `/kept` resume in the next.
const [, , url = '', port = '0'] = process.argv
const registry = createRegistry()
const model = scriptedModel(({ prompt }) => {
  const text = JSON.stringify(prompt)
  if (text.includes('Oslo')) return 'You are in Oslo'
  if (text.includes('Where'))
    return { text: 'Let me see', toolCalls: [{ toolName: 'locate', args: { exact: true } }] }
  return { text: ['one ', 'two'], hangs: 'stream' }
})
new Agent({ name: 'support', model, registry })
const app = Fastify({ forceCloseConnections: true })
await app.register(store, { url })
await app.register(registryPlugin, { registry })
await app.register(openAi, { prefix: '/v1', clientTools: true })
await app.register(openAi, { prefix: '/kept', clientTools: true, onDisconnect: 'continue' })
await app.listen({ port: Number(port), host: '127.0.0.1' })
await app.runs.recover()
writeSync(1, `${(app.server.address() as { port: number }).port}\n`)
