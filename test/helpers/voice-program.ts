import gateway from '@svc/gateway'
import http from '@svc/http'
import registryPlugin, { createRegistry } from '@svc/registry'
import { Agent } from '@svc/runtime'
import { scriptedModel } from '@svc/runtime/testing'
import store from '@svc/store'
import Fastify, { type FastifyInstance } from 'fastify'
import { makePhone } from './serve-voice.ts'

/** Adds a phone on a database to an app; its agent answers with the whole conversation. */
export async function addEchoPhone(app: FastifyInstance, url: string): Promise<void> {
  const registry = createRegistry()
  const desk = new Agent({
    name: 'desk',
    registry,
    model: scriptedModel(({ prompt }) => {
      const said = prompt.flatMap(({ role, content }) =>
        typeof content === 'string'
          ? []
          : content.map((part) => `${role[0]}:${part.type === 'text' ? part.text : ''}`)
      )
      return said.join(' ')
    })
  })
  makePhone(registry, { answer: desk })
  await app.register(store, { url })
  await app.register(registryPlugin, { registry })
  await app.register(http)
  await app.register(gateway)
}

// As a program, a service that logs its address.
if (process.argv[1] === import.meta.filename) {
  const app = Fastify({ logger: true })
  await addEchoPhone(app, process.argv[2]!)
  await app.listen({ port: 0, host: '127.0.0.1' })
}
