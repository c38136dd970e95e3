import { once } from 'node:events'
import { Agent, request, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import registry, { createRegistry } from '@svc/registry'
import { createTestCluster } from '@svc/testing'
import Fastify from 'fastify'
import t, { type Test } from 'tap'

/** A node, and how to send a request over a connection that the client keeps. */
async function serve(t: Test) {
  const app = Fastify({ return503OnClosing: false })
  app.decorate('store', createTestCluster().join().stores as never)
  await app.register(registry, { registry: createRegistry() })
  app.get('/', async () => (app.runs.draining ? 'closing' : 'serving'))
  await app.listen({ port: 0, host: '127.0.0.1' })
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  t.teardown(() => agent.destroy())
  const { port } = app.server.address() as AddressInfo
  const send = async () => {
    const sent = request({ port, host: '127.0.0.1', agent }).end()
    const [response] = (await once(sent, 'response')) as [IncomingMessage]
    return { kept: sent.reusedSocket, connection: response.headers.connection, body: await text(response) }
  }
  return { app, send }
}

t.test('a node that closes serves on for a while, once more on each connection', async (t) => {
  const { app, send } = await serve(t)
  t.same(await send(), { kept: false, connection: 'keep-alive', body: 'serving' })
  const closed = app.close()
  await app.runs.close()
  t.same(await send(), { kept: true, connection: 'close', body: 'closing' })
  t.same(await send(), { kept: false, connection: 'close', body: 'closing' })
  await closed
  await t.rejects(send())
})
