import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import https from 'node:https'
import type { AddressInfo } from 'node:net'
import { resolve } from 'node:path'
import { remoteAgent } from '@svc/a2a'
import { createContext } from '@svc/registry'
import Fastify, { type FastifyRequest } from 'fastify'
import t, { type Test } from 'tap'
import { buildApp, echo } from '../helpers/build-app.ts'

const task = {
  id: 't1',
  contextId: 'c1',
  status: { state: 'TASK_STATE_COMPLETED' },
  artifacts: [{ artifactId: 'a', parts: [{ text: 'done' }] }]
}

interface Interface {
  url: string
  protocolBinding: string
  protocolVersion: string
  tenant?: string
}

/** A service with this card, which keeps the requests that it gets. */
async function serve(t: Test, card: (origin: string) => { interfaces: Interface[]; streaming?: boolean }) {
  const app = Fastify()
  t.teardown(() => app.close())
  const requests: { url: string; headers: FastifyRequest['headers']; body: Record<string, never> }[] = []
  let cards = 0
  app.get('/.well-known/agent-card.json', () => {
    cards++
    const { interfaces, streaming = false } = card(origin)
    return { name: 'far', supportedInterfaces: interfaces, capabilities: { streaming } }
  })
  app.addContentTypeParser('application/a2a+json', { parseAs: 'string' }, (_request, body, done) =>
    done(null, JSON.parse(body as string))
  )
  app.post('/*', ({ url, headers, body }, reply) => {
    requests.push({ url, headers, body: body as never })
    const { id } = body as { id?: number }
    const answer = id === undefined ? { task } : { jsonrpc: '2.0', id, result: { task } }
    if (headers.accept?.includes('text/event-stream'))
      return reply.type('text/event-stream').send(`data: ${JSON.stringify(answer)}\n\n`)
    return answer
  })
  const origin = await app.listen({ port: 0, host: '127.0.0.1' })
  return { origin, requests, cards: () => cards }
}

const RPC = { protocolBinding: 'JSONRPC', protocolVersion: '1.0' }

t.test('a client names its version in each request', async (t) => {
  const { origin, requests } = await serve(t, (at) => ({ interfaces: [{ url: `${at}/rpc`, ...RPC }] }))
  t.match(await remoteAgent({ url: origin }).run('x', createContext()), { text: 'done' })
  t.ok(requests.length > 0)
  for (const { headers } of requests) t.equal(headers['a2a-version'], '1.0')
})

t.test('a client streams only where the card says that the service does', async (t) => {
  for (const streaming of [true, false]) {
    const { origin, requests } = await serve(t, (at) => ({
      interfaces: [{ url: `${at}/rpc`, ...RPC }],
      streaming
    }))
    await remoteAgent({ url: origin }).run('x', createContext())
    t.match(requests, [{ body: { method: streaming ? 'SendStreamingMessage' : 'SendMessage' } }])
  }
})

t.test('a service whose certificate no authority has signed is not called', async (t) => {
  const { url } = await buildApp(t, { runnables: [echo] })
  t.match(await remoteAgent({ url }).run('x', createContext()), { text: 'x' })
  let requests = 0
  const pem = readFileSync(resolve(import.meta.dirname, '../fixtures/self-signed.pem'))
  const server = https.createServer({ key: pem, cert: pem }, (_request, reply) => {
    requests++
    reply.end('{}')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  const far = remoteAgent({ url: `https://127.0.0.1:${port}/`, version: '1.0', token: 'secret' })
  await t.rejects(far.run('x', createContext()), { code: 'A2A_ERR_REMOTE', message: /cannot be reached/ })
  t.equal(requests, 0)
})
