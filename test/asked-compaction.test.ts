import gateway from '@svc/gateway'
import http from '@svc/http'
import registryPlugin, { createRegistry, type RunEngine } from '@svc/registry'
import { Agent, Workflow } from '@svc/runtime'
import { scriptedModel } from '@svc/runtime/testing'
import { createStore, type Store } from '@svc/store'
import t from 'tap'
import { serve, type Served } from './helpers/serve.ts'

type Test = Parameters<typeof serve>[0]

const authenticate = async ({ token }: { token?: string | undefined }) =>
  token === undefined
    ? { sub: 'anonymous', scopes: [] }
    : { sub: token, scopes: token === 'eve' ? [] : ['agents:run'] }
const authorize = ({ scopes }: { scopes: readonly string[] }) =>
  scopes.includes('agents:run') ? { allowed: true } : { allowed: false, missing: 'agents:run' }
const PATH = '/api/sessions/agent/talk/s/compact'
const ada = { authorization: 'Bearer ada' }
const TEXT = 'words '.repeat(100)

/** An agent that answers `Noted.`, and whose summaries are `Known.` */
async function serveTalk(
  t: Test,
  stores?: Store
): Promise<Served & { runs: RunEngine; asked: () => string[] }> {
  const registry = createRegistry()
  // How its provider counts is learned by its name, from all tests of the process.
  const model = scriptedModel(
    ({ prompt: [first] }) =>
      first?.role === 'system' && first.content.startsWith('You keep the summary') ? 'Known.' : 'Noted.',
    { modelId: 'compacted' }
  )
  registry.add(new Agent({ name: 'talk', register: false, model, history: { compact: { keep: 2 } } }))
  registry.add(
    new Workflow({ name: 'flow', register: false, steps: (flow) => flow.step('one', () => 'done') })
  )
  let runs: RunEngine | undefined
  const served = await serve(t, async (app) => {
    await app.register(registryPlugin, { registry, authenticate, authorize, ...(stores && { stores }) })
    await app.register(http, { prefix: '/api' })
    await app.register(gateway)
    ;({ runs } = app)
  })
  return { ...served, runs: runs!, asked: () => model.calls.map(({ prompt }) => JSON.stringify(prompt)) }
}

const say = ({ ask }: Served, input: string) =>
  ask('POST', '/api/agents/talk/run', { input, sessionId: 's' }, ada)

for (const store of ['memory', 'SQLite'])
  t.test(`${store}: a session is compacted over HTTP, a socket and in the app`, async (t) => {
    const stores = store === 'memory' ? undefined : await createStore({ url: 'sqlite::memory:' })
    const served = await serveTalk(t, stores)
    const { ask, runs, app, asked } = served
    const shown = async () =>
      (await ask('GET', '/api/sessions/agent/talk/s?limit=100', undefined, ada)).body.messages
    for (let turn = 1; turn <= 6; turn++) await say(served, `say ${turn} ${TEXT}`)
    const said = await shown()
    const answer = await ask('POST', PATH, undefined, ada)
    t.match(answer, {
      status: 200,
      body: { status: 'completed', kind: 'agent', sessionId: 's', result: { text: '' } }
    })
    t.ok(answer.body.messages > 0)
    t.equal(answer.headers.get('x-run-id'), answer.body.runId)
    const after = await shown()
    t.same(after.slice(0, -1), said)
    t.match(after.at(-1), { runId: answer.body.runId, message: { role: 'summary', text: 'Known.' } })
    await say(served, 'And now?')
    t.match(asked().at(-1), '<summary>')
    t.notMatch(asked().at(-1), 'say 1')

    for (let turn = 1; turn <= 3; turn++) await say(served, `more ${turn} ${TEXT}`)
    const client = await served.connect('/', { token: 'ada' })
    const compacted = await client.ask('session.compact', { kind: 'agent', name: 'talk', sessionId: 's' })
    t.ok(compacted.messages > 0)
    t.equal((await runs.find(compacted.runId))?.status, 'completed')

    for (let turn = 1; turn <= 3; turn++) await say(served, `again ${turn} ${TEXT}`)
    const key = { registry: 'global', owner: 'ada', kind: 'agent', name: 'talk', sessionId: 's' } as const
    const run = await app.sessions.compact(key)
    await run.result()
    t.match((await shown()).at(-1), { runId: run.runId, message: { role: 'summary' } })
    t.equal((await runs.find(run.runId))?.owner, 'ada')
    const later = await ask('POST', PATH, undefined, { ...ada, prefer: 'respond-async' })
    t.match(later, { status: 202, body: { status: /submitted|working|completed/ } })
    t.equal(later.headers.get('location'), `/api/runs/${later.body.runId}`)
    await (await runs.sessions.compact(key)).result()
    const nothing = await ask('POST', PATH, undefined, ada)
    t.match(nothing, { status: 200, body: { status: 'completed', messages: 0 } })
  })

t.test('only its owner, who may run the agent, has a session compacted', async (t) => {
  const served = await serveTalk(t)
  const { ask } = served
  await say(served, 'Hi')
  const refused = async (
    path: string,
    status: number,
    code: string,
    headers: Record<string, string> = ada,
    body?: unknown
  ) => {
    const answer = await ask('POST', path, body, headers)
    t.same([answer.status, answer.body.code], [status, code], path)
  }
  await refused(PATH, 404, 'RUN_ERR_SESSION_NOT_FOUND', { authorization: 'Bearer bob' })
  await refused(PATH.replace('/s/', '/none/'), 404, 'RUN_ERR_SESSION_NOT_FOUND')
  await refused(`${PATH}?whenBusy=steer`, 400, 'HTTP_ERR_VALIDATION')
  await refused(`${PATH}?keep=3`, 400, 'HTTP_ERR_VALIDATION')
  await refused(`${PATH}?userId=bob`, 403, 'HTTP_ERR_FOREIGN_USER')
  await ask('POST', '/api/workflows/flow/run', { input: 'x', sessionId: 'w' }, ada)
  const client = await served.connect('/', { token: 'ada' })
  const of = { kind: 'agent', name: 'talk', sessionId: 's' }
  t.match(await client.ask('session.compact', { ...of, sessionId: 'none' }), {
    code: 'RUN_ERR_SESSION_NOT_FOUND'
  })
  t.match(await client.ask('session.compact', { ...of, whenBusy: 'steer' }), { code: 'GTW_ERR_BAD_PAYLOAD' })
  const key = { registry: 'global', owner: 'ada', kind: 'agent', name: 'talk', sessionId: 'none' } as const
  await t.rejects(served.app.sessions.compact(key), { code: 'RUN_ERR_SESSION_NOT_FOUND' })
})

t.test('a caller without the scope, and a runnable that compacts nothing', async (t) => {
  const served = await serveTalk(t)
  const { app, ask } = served
  const keyOf = (owner: string, kind: 'agent' | 'workflow', name: string) =>
    ({ registry: 'global', owner, kind, name, sessionId: 's' }) as const
  await app.sessions.create(keyOf('eve', 'agent', 'talk'))
  const eve = { authorization: 'Bearer eve' }
  t.match(await ask('POST', PATH, undefined, eve), { status: 403, body: { code: 'HTTP_ERR_MISSING_SCOPE' } })
  await app.sessions.create(keyOf('ada', 'workflow', 'flow'))
  await t.rejects(app.sessions.compact(keyOf('ada', 'workflow', 'flow')), { code: 'RUN_ERR_NO_COMPACTION' })
  await app.sessions.create(keyOf('ada', 'agent', 'gone'))
  await t.rejects(app.sessions.compact(keyOf('ada', 'agent', 'gone')), { code: 'RUN_ERR_NO_COMPACTION' })
})
