import { writeSync } from 'node:fs'
import registryPlugin, { createRegistry } from '@svc/registry'
import { Agent, type AgentOptions } from '@svc/runtime'
import { scriptedModel, type Script } from '@svc/runtime/testing'
import store from '@svc/store'
import Fastify, { type FastifyInstance } from 'fastify'

/**
 * Serves an agent `support` on the database and the port of the command line, prints the port, and runs until it is killed.
 * @param script a function of the prompt, so that it continues where another process stopped
 */
export async function serveUntilKilled(
  script: Script,
  options: Partial<AgentOptions>,
  register: (app: FastifyInstance) => PromiseLike<unknown>
): Promise<void> {
  const [, , url = '', port = '0'] = process.argv
  const registry = createRegistry()
  new Agent({ name: 'support', model: scriptedModel(script), registry, ...options })
  const app: FastifyInstance = Fastify({ forceCloseConnections: true })
  await app.register(store, { url })
  await app.register(registryPlugin, { registry })
  await register(app)
  const origin = await app.listen({ port: Number(port), host: '127.0.0.1' })
  writeSync(1, `${new URL(origin).port}\n`)
}
