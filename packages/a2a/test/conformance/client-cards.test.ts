import { remoteAgent } from '@svc/a2a'
import { createContext } from '@svc/registry'
import Fastify, { type FastifyReply, type FastifyRequest } from 'fastify'
import t, { type Test } from 'tap'

type AnswerCard = (
  request: FastifyRequest,
  reply: FastifyReply,
  interfaces: (path: string) => object
) => unknown

const task = {
  id: 't1',
  contextId: 'c1',
  status: { state: 'TASK_STATE_COMPLETED' },
  artifacts: [{ artifactId: 'a', parts: [{ text: 'done' }] }]
}

/** A service that answers requests for its card like this; `ask` runs a client of it, and returns the path of its endpoint. */
async function serve(t: Test, answer: AnswerCard) {
  const app = Fastify({ forceCloseConnections: true })
  t.teardown(() => app.close())
  const asked: FastifyRequest['headers'][] = []
  const paths: string[] = []
  const interfaces = (path: string) => ({
    name: 'far',
    supportedInterfaces: [{ url: path, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
    capabilities: {}
  })
  app.get('/.well-known/agent-card.json', (request, reply) => {
    asked.push(request.headers)
    return answer(request, reply, interfaces)
  })
  app.post('/*', ({ url, body }) => {
    paths.push(url)
    return { jsonrpc: '2.0', id: (body as { id: number }).id, result: { task } }
  })
  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  const agent = remoteAgent({ url })
  const ask = async () => {
    await agent.run('x', createContext())
    return paths.at(-1)
  }
  return { app, asked, ask }
}

t.test('a card is read once as long as it is fresh, or nothing says how long that is', async (t) => {
  const far = new Date(Date.now() + 3_600_000).toUTCString()
  for (const headers of [
    {},
    { 'cache-control': 'public, max-age=3600' },
    { 'cache-control': 'MAX-AGE="3600"', expires: '0' },
    { expires: far },
    { etag: '"a"' }
  ]) {
    const { ask, asked } = await serve(t, (_request, reply, interfaces) =>
      reply.headers(headers).send(interfaces('/a'))
    )
    for (let time = 0; time < 3; time++) t.equal(await ask(), '/a')
    t.equal(asked.length, 1, JSON.stringify(headers))
  }
})

t.test('a card that is no longer fresh is asked for on condition that it has changed', async (t) => {
  const old = new Date(0).toUTCString()
  const cases: [headers: object, condition: object][] = [
    [{ 'cache-control': 'max-age=0', etag: '"a"' }, { 'if-none-match': '"a"' }],
    [{ 'cache-control': 'no-cache', etag: 'W/"a"' }, { 'if-none-match': 'W/"a"' }],
    [{ 'cache-control': 'max-age=60', age: '60', 'last-modified': old }, { 'if-modified-since': old }],
    [
      { expires: old, etag: '"a"', 'last-modified': old },
      { 'if-none-match': '"a"', 'if-modified-since': old }
    ],
    [{ expires: '0', etag: '"a"' }, { 'if-none-match': '"a"' }]
  ]
  for (const [headers, condition] of cases) {
    const { ask, asked } = await serve(t, (request, reply, interfaces) => {
      const isAgain = 'if-none-match' in request.headers || 'if-modified-since' in request.headers
      return isAgain ? reply.code(304).send() : reply.headers(headers).send(interfaces('/a'))
    })
    for (let time = 0; time < 3; time++) t.equal(await ask(), '/a', JSON.stringify(headers))
    t.equal(asked.length, 3)
    t.notMatch(Object.keys(asked[0]!).join(), /if-/)
    for (const each of asked.slice(1)) t.match(each, condition)
  }
})

t.test('what has changed on a card counts for the next message', async (t) => {
  let path = '/a'
  const { ask, asked } = await serve(t, (_request, reply, interfaces) =>
    reply.header('cache-control', 'max-age=0').send(interfaces(path))
  )
  t.equal(await ask(), '/a')
  path = '/b'
  t.equal(await ask(), '/b')
  t.equal(asked.length, 2)
})

t.test('a 304 may say that the card is fresh for longer', async (t) => {
  const { ask, asked } = await serve(t, ({ headers }, reply, interfaces) =>
    headers['if-none-match'] === undefined
      ? reply.headers({ 'cache-control': 'max-age=0', etag: '"a"' }).send(interfaces('/a'))
      : reply.code(304).headers({ 'cache-control': 'max-age=3600', etag: '"a"' }).send()
  )
  for (let time = 0; time < 4; time++) await ask()
  t.equal(asked.length, 2)
})

t.test('messages at once ask for a stale card once', async (t) => {
  const { ask, asked } = await serve(t, (_request, reply, interfaces) =>
    reply.header('cache-control', 'no-store').send(interfaces('/a'))
  )
  await ask()
  await Promise.all([ask(), ask(), ask()])
  t.equal(asked.length, 2)
})

t.test('while the card cannot be had, the one that is known counts', async (t) => {
  let status = 200
  const { ask, asked } = await serve(t, (_request, reply, interfaces) =>
    reply.code(status).header('cache-control', 'max-age=0').send(interfaces('/a'))
  )
  await ask()
  status = 503
  t.equal(await ask(), '/a')
  t.equal(await ask(), '/a')
  t.equal(asked.length, 2, 'not asked for each message')
})

t.test('a card that is gone is an error', async (t) => {
  let isGone = false
  const { ask } = await serve(t, (_request, reply, interfaces) =>
    isGone ? reply.code(404).send() : reply.header('cache-control', 'max-age=0').send(interfaces('/a'))
  )
  await ask()
  isGone = true
  await t.rejects(ask(), { code: 'A2A_ERR_REMOTE', message: /no agent card/ })
})
