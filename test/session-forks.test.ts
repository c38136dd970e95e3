import http from '@svc/http'
import registryPlugin, { createRegistry, defineRunnable, removeSession, type RunEngine } from '@svc/registry'
import { talkingRunnable } from '@svc/testing'
import { createStore, type Store } from '@svc/store'
import t from 'tap'
import { serve, type Served } from './helpers/serve.ts'

type Test = Parameters<typeof serve>[0]

const authenticate = async ({ token }: { token?: string | undefined }) =>
  token === undefined ? { sub: 'anonymous', scopes: [] } : { sub: token, scopes: ['agents:run'] }
const PATH = '/api/sessions/agent/talk'
const talk = defineRunnable(talkingRunnable())
const ada = { authorization: 'Bearer ada' }
const keyOf = (sessionId: string) =>
  ({ registry: 'global', kind: 'agent', name: 'talk', owner: 'ada', sessionId }) as const

async function serveTalk(t: Test, stores?: Store): Promise<Served & { runs: RunEngine }> {
  const registry = createRegistry()
  registry.add(talk)
  let runs: RunEngine | undefined
  const served = await serve(t, async (app) => {
    await app.register(registryPlugin, { registry, authenticate, ...(stores && { stores }) })
    await app.register(http, { prefix: '/api' })
    ;({ runs } = app)
  })
  return { ...served, runs: runs! }
}

t.test('a session is forked and read branch by branch', async (t) => {
  const { ask } = await serveTalk(t)
  const say = async (input: string, more: object = {}) =>
    (await ask('POST', '/api/agents/talk/run', { input, sessionId: 's', ...more }, ada)).body
  const read = async (query = '', sessionId = 's') =>
    (await ask('GET', `${PATH}/${sessionId}${query}`, undefined, ada)).body
  const saidIn = (detail: { messages: { message: { content: string } }[] }) =>
    detail.messages.map(({ message }) => message.content)
  const [a, b] = [await say('a'), await say('b')]
  const c = await say('c', { afterTurn: a.runId })
  const newest = await read()
  t.same(saidIn(newest), ['a', 'c'])
  t.same(newest.branches, [{ after: a.runId, turns: [b.runId, c.runId] }])
  t.same(saidIn(await read(`?branch=${b.runId}`)), ['a', 'b'])
  const last = await read(`?branch=${b.runId}&limit=1`)
  t.same([saidIn(last), last.branches], [['b'], []])
  t.same(saidIn(await read(`?branch=${b.runId}&limit=1&before=${last.nextCursor}`)), ['a'])
  t.match(await ask('GET', `${PATH}/s?branch=x`, undefined, ada), {
    status: 404,
    body: { code: 'RUN_ERR_NO_TURN' }
  })

  const fork = (body: object, sessionId = 's', headers: object = ada) =>
    ask('POST', `${PATH}/${sessionId}/fork`, body, headers as Record<string, string>)
  const made = await fork({ runId: b.runId, sessionId: 'my fork' })
  t.match(made, {
    status: 201,
    body: { sessionId: 'my fork', kind: 'agent', name: 'talk', title: 'a', turns: 2 }
  })
  t.same(saidIn(await read('', 'my%20fork')), ['a', 'b'])
  t.equal((await say('d', { sessionId: 'my fork' })).text, 'a b d')
  t.equal((await say('e', { sessionId: 'my fork', afterTurn: a.runId })).text, 'a e')
  t.equal((await say('f')).text, 'a c f')
  const own = await fork({})
  t.equal(own.status, 201)
  t.equal((await say('g', { sessionId: own.body.sessionId })).text, 'a c f g')

  const refused = async (body: object, status: number, code: string, of?: string, headers?: object) => {
    const answer = await fork(body, of, headers)
    t.same([answer.status, answer.body.code], [status, code], JSON.stringify([body, of]))
  }
  await refused({ runId: 'x' }, 404, 'RUN_ERR_NO_TURN')
  await refused({ sessionId: 'my fork' }, 409, 'RUN_ERR_SESSION_EXISTS')
  await refused({}, 404, 'RUN_ERR_SESSION_NOT_FOUND', 'none')
  await refused({}, 404, 'RUN_ERR_SESSION_NOT_FOUND', 's', { authorization: 'Bearer bob' })
  for (const body of [{ runId: 7 }, { sessionId: '' }, { sessionId: 'a\nb' }, { at: 1 }])
    await refused(body, 400, 'HTTP_ERR_VALIDATION')
})

t.test('the answer to a deletion counts what forks keep', async (t) => {
  const { ask } = await serveTalk(t)
  const say = (sessionId: string) => ask('POST', '/api/agents/talk/run', { input: 'a', sessionId }, ada)
  const remove = (sessionId: string, query = '') =>
    ask('DELETE', `${PATH}/${sessionId}${query}`, undefined, ada)
  for (const sessionId of ['s', 's', 'q']) await say(sessionId)
  for (const to of ['f', 'g'])
    t.equal((await ask('POST', `${PATH}/s/fork`, { sessionId: to }, ada)).status, 201)
  await ask('POST', `${PATH}/q/fork`, { sessionId: 'r' }, ada)
  t.match(await remove('s'), { status: 200, body: { shared: 2 } })
  t.equal((await remove('f')).status, 204)
  t.equal((await remove('q', '?forks=true')).status, 204)
  const { body } = await ask('GET', '/api/sessions', undefined, ada)
  t.same(
    body.sessions.map(({ sessionId }: { sessionId: string }) => sessionId),
    ['g']
  )
  t.equal((await remove('g', '?forks=maybe')).status, 400)
  t.equal((await remove('g')).status, 204)
})

t.test('a page that its bytes cut continues on its branch', async (t) => {
  const { ask } = await serveTalk(t)
  const say = async (input: string, more: object = {}) =>
    (await ask('POST', '/api/agents/talk/run', { input, sessionId: 's', ...more }, ada)).body
  const large = 'x'.repeat(400_000)
  const a = await say(`a${large}`)
  const b = await say(`b${large}`)
  await say('other', { afterTurn: a.runId })
  await say(`c${large}`, { afterTurn: b.runId })
  const seen: string[] = []
  for (let before = ''; ;) {
    const { body } = await ask('GET', `${PATH}/s?limit=100${before}`, undefined, ada)
    seen.unshift(...body.messages.map(({ message }: { message: { content: string } }) => message.content[0]))
    if (body.nextCursor === null) break
    before = `&before=${body.nextCursor}`
  }
  t.same(seen, ['a', 'b', 'c'])
})

for (const url of [undefined, 'sqlite::memory:'])
  t.test(`what forks share goes with the last of them: ${url ?? 'in memory'}`, async (t) => {
    const stores = url === undefined ? undefined : await createStore({ url })
    const { runs } = await serveTalk(t, stores)
    const { sessions } = runs
    const principal = { sub: 'ada', scopes: [] }
    const say = async (input: string, sessionId: string) => {
      const run = await runs.start(talk, input, { sessionId, principal })
      return { runId: run.runId, text: (await run.result()).text }
    }
    const a = await say('a', 's')
    await say('b', 's')
    await sessions.fork(keyOf('s'), { sessionId: 'f', runId: a.runId })
    await sessions.fork(keyOf('f'), { sessionId: 'g' })
    t.same(await removeSession(runs, keyOf('s')), { runs: 2, memories: 0, shared: 1, forks: 0 })
    t.equal((await say('c', 'f')).text, 'a c')
    t.equal((await say('d', 's')).text, 'd')
    t.same(await removeSession(runs, keyOf('f')), { runs: 1, memories: 0, shared: 0, forks: 0 })
    t.equal((await say('e', 'g')).text, 'a e')
    await sessions.fork(keyOf('g'), { sessionId: 'h' })
    t.same(await removeSession(runs, keyOf('g'), { forks: true }), {
      runs: 1,
      memories: 0,
      shared: 0,
      forks: 1
    })
    t.equal((await say('f', 'h')).text, 'f', 'nothing is left of it')
  })
