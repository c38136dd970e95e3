import gateway from '@svc/gateway'
import http from '@svc/http'
import registryPlugin, { createRegistry } from '@svc/registry'
import { Agent } from '@svc/runtime'
import { scriptedModel } from '@svc/runtime/testing'
import t from 'tap'
import { serve, type Served } from './helpers/serve.ts'

type Test = Parameters<typeof serve>[0]

const authenticate = async ({ token }: { token?: string | undefined }) =>
  token === undefined ? { sub: 'anonymous', scopes: [] } : { sub: token, scopes: ['agents:run'] }
const PATH = '/api/sessions/agent/desk'

/** An agent over HTTP and sockets, whose callers are whoever they say. */
async function serveDesk(t: Test, options: { policy?: boolean; heartbeat?: number } = {}): Promise<Served> {
  const registry = createRegistry()
  for (const name of ['desk', 'other']) {
    const model = scriptedModel(({ prompt }) => `answer ${prompt.length}`)
    registry.add(new Agent({ name, model, register: false }))
  }
  return serve(t, async (app) => {
    await app.register(registryPlugin, { registry, ...(options.policy && { authenticate }) })
    await app.register(http, { prefix: '/api' })
    await app.register(gateway)
  })
}

function as(sub: string): Record<string, string> {
  return { authorization: `Bearer ${sub}` }
}

t.test('a conversation is listed, read page by page, named and followed by its owner', async (t) => {
  const { ask } = await serveDesk(t, { policy: true })
  const ada = as('ada')
  const say = async (input: string, sessionId: string, name = 'desk') =>
    (await ask('POST', `/api/agents/${name}/run`, { input, sessionId }, ada)).body
  const first = await say('  Where is my\n parcel? ', 's1')
  const second = await say('And the other?', 's1')
  await say('hi', 's2')
  await say('hi', 's3', 'other')
  const { body: all } = await ask('GET', '/api/sessions', undefined, ada)
  t.same(
    all.sessions.map((each: { sessionId: string }) => each.sessionId),
    ['s3', 's2', 's1']
  )
  t.equal(all.nextCursor, null)
  t.match(all.sessions[2], { kind: 'agent', name: 'desk', title: 'Where is my parcel?', turns: 2 })
  t.notOk('activeRun' in all.sessions[2] || 'metadata' in all.sessions[2])

  const { body: page } = await ask('GET', '/api/sessions?name=desk&kind=agent&limit=1', undefined, ada)
  t.equal(page.sessions[0].sessionId, 's2')
  const rest = await ask('GET', `/api/sessions?name=desk&limit=1&cursor=${page.nextCursor}`, undefined, ada)
  t.match(rest.body, { sessions: [{ sessionId: 's1' }], nextCursor: null })

  const { body: detail } = await ask('GET', `${PATH}/s1?limit=3`, undefined, ada)
  t.same(
    detail.messages.map(({ runId }: { runId: string }) => runId),
    [first.runId, second.runId, second.runId]
  )
  t.match(detail.messages[0].message, { role: 'assistant', text: 'answer 1' })
  t.equal(detail.lastEventId, '3.0')
  const older = await ask('GET', `${PATH}/s1?limit=3&before=${detail.nextCursor}`, undefined, ada)
  t.match(older.body.messages, [{ message: { role: 'user', content: '  Where is my\n parcel? ' } }])
  t.equal(older.body.nextCursor, null)

  const change = { title: 'Parcels', metadata: { customer: 'c-17' } }
  t.match((await ask('PATCH', `${PATH}/s1`, change, ada)).body, { ...change, sessionId: 's1' })
  t.match((await ask('GET', '/api/sessions?limit=1', undefined, ada)).body.sessions[0], change)
  const cleared = (await ask('PATCH', `${PATH}/s1`, { title: null, metadata: null }, ada)).body
  t.notOk('metadata' in cleared || cleared.title === 'Parcels')
})

t.test('others neither see nor reach it', async (t) => {
  const served = await serveDesk(t, { policy: true })
  const { ask } = served
  await ask('POST', '/api/agents/desk/run', { input: 'hi', sessionId: 's1' }, as('ada'))
  t.same((await ask('GET', '/api/sessions', undefined, as('grace'))).body.sessions, [])
  const missing = { statusCode: 404, code: 'RUN_ERR_SESSION_NOT_FOUND' }
  for (const [method, path, body] of [
    ['GET', '/s1'],
    ['PATCH', '/s1', { title: 'Mine' }],
    ['DELETE', '/s1'],
    ['GET', '/s1/stream']
  ] as const)
    t.match((await ask(method, PATH + path, body, as('grace'))).body, missing, `${method} ${path}`)
  const client = await served.connect('/', { token: 'grace' })
  const named = { kind: 'agent', name: 'desk', sessionId: 's1' }
  t.match(await client.ask('session.list', {}), { sessions: [], nextCursor: null })
  t.match(await client.ask('session.watch', named), { code: 'RUN_ERR_SESSION_NOT_FOUND' })
  t.match(await client.ask('session.unwatch', named), { code: 'RUN_ERR_SESSION_NOT_FOUND' })
  const owner = await served.connect('/', { token: 'ada' })
  t.match(await owner.ask('session.list', { limit: 5 }), { sessions: [{ sessionId: 's1', title: 'hi' }] })
  t.match(await owner.ask('session.unwatch', named), { code: 'GTW_ERR_NOT_WATCHED' })
})

t.test('callers without credentials have the sessions of the userId that they name', async (t) => {
  const { ask } = await serveDesk(t)
  await ask('POST', '/api/agents/desk/run', { input: 'hi', sessionId: 's1', userId: 'u1' })
  const ids = async (query: string) =>
    (await ask('GET', `/api/sessions${query}`)).body.sessions.map(
      ({ sessionId }: { sessionId: string }) => sessionId
    )
  t.same(await ids('?userId=u1'), ['s1'])
  t.same(await ids(''), [])
  t.same(await ids('?userId=u2'), [])
  t.equal((await ask('GET', `${PATH}/s1`)).status, 404)
  t.equal((await ask('GET', `${PATH}/s1?userId=u1`)).status, 200)
  t.equal((await ask('PATCH', `${PATH}/s1?userId=u1`, { title: 'x' })).status, 200)
})

t.test('an id may have any character, as long as the router of the app accepts it', async (t) => {
  const { ask } = await serveDesk(t)
  for (const sessionId of ['x'.repeat(100), 'a/b?c#d%25', 'größer als ü', '..', 'ids with spaces']) {
    await ask('POST', '/api/agents/desk/run', { input: 'hi', sessionId })
    const path = `${PATH}/${encodeURIComponent(sessionId)}`
    const { status, body } = await ask('GET', path)
    t.equal(status, sessionId === '..' ? 404 : 200, sessionId.slice(0, 20))
    if (status === 200) t.equal(body.sessionId, sessionId)
    const { sessions, nextCursor } = (await ask('GET', '/api/sessions?limit=1')).body
    t.equal(sessions[0].sessionId, sessionId)
    if (nextCursor !== null) t.equal((await ask('GET', `/api/sessions?cursor=${nextCursor}`)).status, 200)
  }
})

t.test('what is wrong with a request is said', async (t) => {
  const { ask } = await serveDesk(t)
  await ask('POST', '/api/agents/desk/run', { input: 'hi', sessionId: 's1' })
  await ask('POST', '/api/agents/desk/run', { input: 'hi', sessionId: 's2' })
  const { nextCursor } = (await ask('GET', '/api/sessions?limit=1')).body
  const { nextCursor: older } = (await ask('GET', `${PATH}/s1?limit=1`)).body
  const refuse = async (method: string, path: string, code: string, status = 400, body?: unknown) => {
    const answer = await ask(method, path, body)
    t.match(answer.body, { statusCode: status, code }, `${method} ${path.slice(0, 80)}`)
  }
  await refuse('GET', `/api/sessions?cursor=${older}`, 'REG_ERR_BAD_CURSOR')
  await refuse('GET', '/api/sessions?cursor=x', 'REG_ERR_BAD_CURSOR')
  await refuse('GET', `${PATH}/s1?before=${nextCursor}`, 'REG_ERR_BAD_CURSOR')
  await refuse('GET', '/api/sessions?kind=person', 'HTTP_ERR_VALIDATION')
  await refuse('GET', '/api/sessions?owner=ada', 'HTTP_ERR_VALIDATION')
  await refuse('GET', `${PATH}/none`, 'RUN_ERR_SESSION_NOT_FOUND', 404)
  await refuse('GET', '/api/sessions/agent/none/s1', 'RUN_ERR_SESSION_NOT_FOUND', 404)
  const change = (body: unknown, code = 'HTTP_ERR_VALIDATION', status = 400) =>
    refuse('PATCH', `${PATH}/s1`, code, status, body)
  await change({ title: '' })
  await change({ title: 'x'.repeat(201) })
  await change({ title: 'x'.repeat(2 ** 20) }, 'HTTP_ERR_BODY_TOO_LARGE', 413)
  await change({ metadata: { key: 1 } })
  await change({ owner: 'ada' })
  for (const after of ['x', '1', '1.', '-1.0', '1.2.3', ''])
    await refuse('GET', `${PATH}/s1/stream?after=${after}`, 'RUN_ERR_BAD_POSITION')
  for (const after of ['1.99', '9.0', '2.1'])
    await refuse('GET', `${PATH}/s1/stream?after=${after}`, 'RUN_ERR_LOG_GONE', 410)
  t.equal((await ask('HEAD', `${PATH}/s1/stream`)).status, 200)
})

t.test('an idle stream answers at once', async (t) => {
  const { ask, origin } = await serveDesk(t)
  await ask('POST', '/api/agents/desk/run', { input: 'hi', sessionId: 's1' })
  const left = new AbortController()
  const response = await fetch(`${origin}${PATH}/s1/stream`, { signal: left.signal })
  t.equal(response.status, 200)
  const { value } = await response.body!.pipeThrough(new TextDecoderStream()).getReader().read()
  t.equal(value, ':\n\n')
  left.abort()
})

t.test('a large message makes a page by itself', async (t) => {
  const { ask } = await serveDesk(t)
  const large = 'x'.repeat(600_000)
  for (let n = 0; n < 3; n++) await ask('POST', '/api/agents/desk/run', { input: large, sessionId: 's1' })
  const seen: unknown[] = []
  let before = ''
  let pages = 0
  for (let next: string | null = ''; next !== null; pages++) {
    const { body } = await ask('GET', `${PATH}/s1?limit=100${before}`)
    seen.unshift(...body.messages.map(({ message }: { message: { role: string } }) => message.role))
    next = body.nextCursor as string | null
    before = `&before=${next}`
  }
  t.ok(pages > 1)
  // They exceed the window of the model, whose summary stands beside them.
  const said = seen.filter((role) => role !== 'summary')
  t.same(said, ['user', 'assistant', 'user', 'assistant', 'user', 'assistant'])
})

t.test('an open surface beside one with users reaches none of their sessions', async (t) => {
  const registry = createRegistry()
  registry.add(new Agent({ name: 'desk', model: scriptedModel('hello'), register: false }))
  const served = await serve(t, async (app) => {
    await app.register(registryPlugin, { registry, authenticate })
    await app.register(http, { prefix: '/api' })
    await app.register(http, { prefix: '/open', authenticate: false })
    await app.register(gateway, { authenticate: false })
  })
  await served.ask('POST', '/api/agents/desk/run', { input: 'hi', sessionId: 's1' }, as('ada'))
  for (const path of [
    '/open/sessions',
    '/open/sessions/agent/desk/s1',
    '/open/sessions/agent/desk/s1/stream'
  ])
    t.match((await served.ask('GET', `${path}?userId=ada`)).body, { code: 'HTTP_ERR_FOREIGN_USER' }, path)
  const client = await served.connect()
  t.match(await client.ask('session.list', { userId: 'ada' }), { code: 'GTW_ERR_FOREIGN_USER' })
})

t.test('its owner deletes a conversation, and its readers learn that', async (t) => {
  const { ask, origin } = await serveDesk(t, { policy: true, heartbeat: 60_000 })
  const ada = as('ada')
  const say = async (sessionId: string) =>
    (await ask('POST', '/api/agents/desk/run', { input: 'hi', sessionId }, ada)).body
  const { runId } = await say('s1')
  await say('s2')
  const stream = await fetch(`${origin}${PATH}/s1/stream?after=0.0`, { headers: ada })
  t.equal((await ask('DELETE', `${PATH}/s1`, undefined, ada)).status, 204)
  await stream.text().catch(() => '')
  for (const path of [`${PATH}/s1`, `${PATH}/s1/stream`, `/api/runs/${runId}`])
    t.equal((await ask('GET', path, undefined, ada)).status, 404, path)
  t.equal((await ask('DELETE', `${PATH}/s1`, undefined, ada)).status, 404, 'it is gone')
  t.match((await ask('GET', '/api/sessions', undefined, ada)).body.sessions, [{ sessionId: 's2' }])
  await say('s1')
  t.match((await ask('GET', `${PATH}/s1`, undefined, ada)).body, { turns: 1 })
})

t.test('a caller without credentials deletes the conversation of its user id', async (t) => {
  const { ask } = await serveDesk(t)
  for (const userId of ['ada', 'grace'])
    await ask('POST', '/api/agents/desk/run', { input: 'hi', sessionId: 's1', userId })
  t.equal((await ask('DELETE', `${PATH}/s1`)).status, 404)
  t.equal((await ask('DELETE', `${PATH}/s1?userId=ada`)).status, 204)
  t.equal((await ask('GET', `${PATH}/s1?userId=ada`)).status, 404)
  t.match((await ask('GET', `${PATH}/s1?userId=grace`)).body, { turns: 1 })
})
