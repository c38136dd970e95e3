import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import t from 'tap'
import { buildGateway, echo } from '../helpers/build-gateway.ts'

const secret = `whsec_${Buffer.alloc(32, 3).toString('base64')}`

t.test('a run over a socket is reported to the webhook of its start', async (t) => {
  const received = Promise.withResolvers<string>()
  const server = createServer((request, reply) => {
    void text(request).then(received.resolve, received.reject)
    reply.writeHead(204).end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  const engine = { webhooks: { allowPrivate: true, secrets: [secret] } }
  const { connect } = await buildGateway(t, { runnables: [echo], engine })
  const client = await connect()
  const webhook = { url, events: ['run.completed'] }
  const asked = { name: 'echo', input: 'hi', webhook }
  const { runId } = (await client.timeout(5_000).emitWithAck('agent.run', asked)) as { runId: string }
  t.match(JSON.parse(await received.promise), { type: 'run.completed', data: { runId, name: 'echo' } })
})
