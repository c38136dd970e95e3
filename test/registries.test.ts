import a2a from '@svc/a2a'
import gateway from '@svc/gateway'
import http from '@svc/http'
import registryPlugin, {
  ANONYMOUS,
  createRegistry,
  type Authenticate,
  type Registry,
  type RunnableDefinition
} from '@svc/registry'
import { pause } from '@svc/testing'
import { Agent, recallMemory, Team, Workflow } from '@svc/runtime'
import { scriptedModel } from '@svc/runtime/testing'
import store from '@svc/store'
import Fastify, { type FastifyInstance } from 'fastify'
import t from 'tap'
import { serve, until, type Served } from './helpers/serve.ts'

type Test = { teardown(fn: () => unknown): unknown }

/** An agent that answers with its place; the inputs `ask` and `wait` make it request an approval or wait first. */
const assistantOf = (place: string): RunnableDefinition => ({
  kind: 'agent',
  name: 'assistant',
  async *stream(input, { approvals, signal }) {
    if (input === 'ask') await approvals.request({ toolCallId: 'c', toolName: 'pay', args: {} })
    if (input === 'wait') await pause(60_000, signal)
    yield { type: 'text', text: place }
  }
})

/** Two sets of surfaces in one app, each with its own registry; both have an agent of the same name. */
async function serveTwo(t: Test): Promise<Served> {
  const authenticate: Authenticate = ({ token }) =>
    token === 'root' ? { sub: 'root', scopes: ['*'] } : ANONYMOUS
  return serve(t, async (app) => {
    for (const id of ['a', 'b']) {
      const registry = createRegistry({ id })
      registry.add(assistantOf(id))
      await app.register(http, { prefix: `/${id}`, registry, authenticate })
      await app.register(gateway, { namespace: `/${id}`, registry })
      await app.register(a2a, { basePath: `/a2a/${id}`, registry })
    }
  })
}

const start = async ({ ask }: Served, path: string, input: string): Promise<string> => {
  const { body } = await ask('POST', path, { input, sessionId: 's' }, { prefer: 'respond-async' })
  return body.runId as string
}
const say = (text: string, fields: object = {}) => ({
  message: { role: 'user', messageId: 'm', parts: [{ kind: 'text', text }], ...fields }
})

t.test('an HTTP prefix does not show, list, stream or cancel runs of another registry', async (t) => {
  const served = await serveTwo(t)
  const { ask } = served
  const admin = { authorization: 'Bearer root' }
  const runId = await start(served, '/b/agents/assistant/run', 'wait')
  for (const [method, path] of [
    ['GET', `/a/runs/${runId}`],
    ['GET', `/a/runs/${runId}/stream`],
    ['POST', `/a/runs/${runId}/cancel`]
  ] as const) {
    t.match(await ask(method, path), { status: 404, body: { code: 'RUN_ERR_NOT_FOUND' } }, path)
    t.match(await ask(method, path, undefined, admin), { status: 404 }, `${path} of an admin`)
  }
  t.same((await ask('GET', '/a/runs')).body.runs, [])
  t.same((await ask('GET', '/a/runs?name=assistant&status=working')).body.runs, [])
  t.match((await ask('GET', '/b/runs')).body.runs, [{ runId, status: 'working' }])
  t.same((await ask('GET', '/a/admin/runs', undefined, admin)).body.runs, [])
  t.match((await ask('GET', '/b/admin/runs', undefined, admin)).body.runs, [{ runId }])
  t.match(await ask('POST', `/b/runs/${runId}/cancel`), { status: 200, body: { status: 'canceled' } })
  t.match((await ask('DELETE', '/a/admin/runs', undefined, admin)).body, { removed: 0 })
  t.match((await ask('GET', `/b/runs/${runId}`)).body, { status: 'canceled' })
  t.match((await ask('DELETE', '/b/admin/runs', undefined, admin)).body, { removed: 1 })
})

t.test('nor does it show their approvals', async (t) => {
  const served = await serveTwo(t)
  const { ask, rpc, connect } = served
  const runId = await start(served, '/b/agents/assistant/run', 'ask')
  const approvalId = `${runId}.1`
  await until(
    () => ask('GET', `/b/runs/${runId}`),
    ({ body }) => body.status === 'input-required'
  )
  t.same((await ask('GET', '/a/approvals')).body, { approvals: [], nextCursor: null })
  const answer = { approved: true }
  t.match(await ask('POST', `/a/approvals/${approvalId}`, answer), { status: 404 })
  const socket = await connect('/a')
  t.match(await socket.ask('approval.answer', { approvalId, ...answer }), {
    code: 'RUN_ERR_INPUT_NOT_FOUND'
  })
  t.match(await rpc('/a2a/a', 'message/send', say('approve', { taskId: runId })), { code: -32001 })
  t.match((await ask('GET', '/b/approvals')).body, { approvals: [{ approvalId }] })
  t.match(await ask('POST', `/b/approvals/${approvalId}`, answer), { status: 200 })
})

t.test('nor do sockets and A2A, whichever surface started the run', async (t) => {
  const served = await serveTwo(t)
  const { rpc, connect } = served
  const other = await connect('/a')
  const own = await connect('/b')
  for (const startIt of [
    () => start(served, '/b/agents/assistant/run', 'wait'),
    async () =>
      (
        await rpc('/a2a/b', 'message/send', {
          ...say('wait', { messageId: 'w' }),
          configuration: { blocking: false }
        })
      ).id as string,
    async () => (await own.ask('agent.run', { name: 'assistant', input: 'wait' })).runId as string
  ]) {
    const runId = await startIt()
    for (const event of ['run.watch', 'run.cancel'])
      t.match(await other.ask(event, { runId }), { code: 'RUN_ERR_NOT_FOUND' }, event)
    for (const method of ['tasks/get', 'tasks/cancel', 'tasks/resubscribe'])
      t.match(await rpc('/a2a/a', method, { id: runId }), { code: -32001 }, method)
    t.match(await rpc('/a2a/a', 'tasks/list', {}), { tasks: [], totalSize: 0 })
    t.match(await rpc('/a2a/b', 'tasks/list', {}), { tasks: [{ id: runId }] })
    t.match(await own.ask('run.watch', { runId }), { status: 'working' })
    t.match(await rpc('/a2a/b', 'tasks/cancel', { id: runId }), { status: { state: 'canceled' } })
  }
})

t.test('message ids and contexts are separate per registry', async (t) => {
  const { rpc } = await serve(t, async (app) => {
    for (const id of ['a', 'b']) {
      const registry = createRegistry({ id })
      for (const name of ['first', 'second'])
        registry.add({ kind: 'agent', name, run: () => `${id} ${name}` })
      await app.register(a2a, {
        basePath: `/${id}`,
        registry,
        authenticate: () => ({ sub: 'ada', scopes: [] })
      })
    }
  })
  const textOf = (task: { artifacts: { parts: { text: string }[] }[] }) => task.artifacts[0]?.parts[0]?.text
  const one = say('hello', { contextId: 'c' })
  const [first, second] = [await rpc('/a', 'message/send', one), await rpc('/b', 'message/send', one)]
  t.not(first.id, second.id)
  t.same([textOf(first), textOf(second)], ['a first', 'b first'])
  for (const [path, { id }] of [
    ['/a', first],
    ['/b', second]
  ] as const)
    t.match(
      await rpc(path, 'tasks/get', { id }),
      { history: [{ messageId: 'm' }, {}] },
      'what was said is kept of both'
    )
  t.equal((await rpc('/b', 'message/send', one)).id, second.id, 'and is one in each')

  await rpc('/b', 'message/send', say('to second', { contextId: 'c', messageId: 'm2' }))
  const next = say('again', { contextId: 'c', messageId: 'm3' })
  t.equal(
    textOf(await rpc('/a', 'message/send', next)),
    'a first',
    'the last agent of the context is one of its own'
  )
  t.equal(textOf(await rpc('/b', 'message/send', next)), 'b second')
})

t.test(
  'agents of the same name in two registries have separate sessions, as members and steps too',
  async (t) => {
    const models = { a: scriptedModel(() => 'noted'), b: scriptedModel(() => 'noted') }
    const remembered = { extract: 0, stored: 0 }
    const { ask } = await serve(t, async (app) => {
      for (const id of ['a', 'b'] as const) {
        const registry = createRegistry({ id })
        const model = models[id]
        const remembering = new Agent({ name: 'assistant', model, memory: recallMemory(), registry })
        new Team({ name: 'crew', mode: 'sequence', members: [remembering], registry })
        new Team({ name: 'led', mode: 'coordinate', members: [remembering], model, registry })
        new Workflow({ name: 'flow', steps: (flow) => flow.step('assistant', remembering), registry })
        await app.register(http, { prefix: `/${id}`, registry })
      }
      for (const event of ['extract', 'stored'] as const)
        app.events.on(`memory.${event}`, () => void remembered[event]++)
    })
    const run = async (router: string, path: string, input: string, sessionId: string) => {
      const { status } = await ask('POST', `/${router}/${path}/run`, { input, sessionId, userId: 'ada' })
      t.equal(status, 200, path)
      await until(
        async () => remembered,
        ({ extract, stored }) => extract === stored
      )
    }
    const paths = ['agents/assistant', 'teams/crew', 'teams/led', 'workflows/flow']
    for (const path of paths) {
      await run('a', path, 'The colour is teal.', 's')
      await run('b', path, 'Which colour is it?', 's')
      await run('b', path, 'Which colour is it, teal?', 'other')
    }
    const prompts = (id: 'a' | 'b') => models[id].calls.map(({ prompt }) => JSON.stringify(prompt))
    t.equal(prompts('b').filter((prompt) => prompt.includes('The colour is teal.')).length, 0)
    t.ok(remembered.stored >= 9)
    await run('a', 'agents/assistant', 'Which colour is it?', 's')
    t.match(prompts('a').at(-1), 'The colour is teal.', 'in its own registry it is known')
  }
)

t.test('idempotency keys are separate per registry', async (t) => {
  const [a, b] = [createRegistry({ id: 'a' }), createRegistry({ id: 'b' })]
  for (const [id, registry] of Object.entries({ a, b })) registry.add(assistantOf(id))
  const { app } = await serve(t, async (app) => {
    await app.register(http, { registry: a })
    await app.register(http, { prefix: '/b', registry: b })
  })
  const startKey = { key: 'k', hash: 'h' }
  const run = async (registry: Registry) =>
    app.runs.start(registry.get('agent', 'assistant')!, 'x', { startKey })
  const [first, second, again] = [await run(a), await run(b), await run(a)]
  t.same([first.replayed, second.replayed, again.replayed], [false, false, true])
  t.equal(again.runId, first.runId)
  t.match(await second.result(), { text: 'b' })
})

t.test(
  'a runnable is the same on all surfaces, however it is passed and whichever registry has it',
  async (t) => {
    const shop = createRegistry({ id: 'shop' })
    const echo = assistantOf('shop')
    const listed = assistantOf('listed')
    listed.name = 'listed'
    shop.add(echo)
    const { ask, rpc, connect, app } = await serve(t, async (app) => {
      await app.register(http, { prefix: '/map', registry: false, agents: { assistant: echo, helper: echo } })
      await app.register(http, { prefix: '/list', agents: [listed] })
      await app.register(gateway, { agents: [echo], registry: createRegistry({ id: 'sockets' }) })
      await app.register(a2a, { registry: shop, basePath: '/shop' })
      await app.register(a2a, { agents: [listed], basePath: '/listed' })
      await app.register(http, { prefix: '/none', registry: createRegistry() })
    })
    const socket = await connect()
    const start = async (path: string) =>
      (await ask('POST', path, { input: 'wait' }, { prefer: 'respond-async' })).body.runId as string

    const runId = await start('/map/agents/assistant/run')
    t.equal((await app.runs.get(runId))?.registry, 'shop')
    t.match(await rpc('/shop', 'tasks/get', { id: runId }), { id: runId, status: { state: 'working' } })
    t.match(await socket.ask('run.watch', { runId }), { status: 'working' })
    t.equal((await ask('GET', `/list/runs/${runId}`)).status, 404)
    t.match(await rpc('/shop', 'tasks/cancel', { id: runId }), { status: { state: 'canceled' } })
    t.match((await ask('GET', `/map/runs/${runId}`)).body, { status: 'canceled' })

    const other = await start('/list/agents/listed/run')
    t.match(await rpc('/listed', 'tasks/list', {}), { tasks: [{ id: other }] })
    for (const prefix of ['/none', '/map']) {
      t.equal(
        (await ask('GET', `${prefix}/runs/${other}`)).status,
        404,
        'whoever does not expose it does not show it'
      )
      t.notMatch((await ask('GET', `${prefix}/runs`)).body.runs, [{ runId: other }])
    }
    await ask('POST', `/list/runs/${other}/cancel`)
    const direct = await app.runs.start(shop.get('agent', 'assistant')!, 'x')
    await direct.result()
    t.match(
      (await ask('GET', `/map/runs/${direct.runId}`)).body,
      { status: 'completed' },
      'nor who started it'
    )
  }
)

t.test('two runnables of the same kind and name need different ids, at start and later', async (t) => {
  const build = async (register: (app: FastifyInstance) => Promise<unknown>) => {
    const app = Fastify()
    t.teardown(() => app.close().catch(() => {}))
    await register(app)
    return app
  }
  const having = (id?: string) => {
    const registry = createRegistry(id === undefined ? {} : { id })
    registry.add(assistantOf(String(id)))
    return registry
  }
  const cases: ((app: FastifyInstance) => Promise<unknown>)[] = [
    async (app) => {
      await app.register(store, { url: 'sqlite::memory:' })
      await app.register(http, { prefix: '/a', registry: having() })
      await app.register(http, { prefix: '/b', registry: having() })
    },
    async (app) => {
      await app.register(http, { prefix: '/a', registry: having('x') })
      await app.register(a2a, { registry: having('x') })
    },
    async (app) => {
      await app.register(registryPlugin, { registry: having() })
      await app.register(gateway, { agents: [assistantOf('named')] })
      await app.register(a2a)
    },
    async (app) => {
      await app.register(registryPlugin, { registry: having() })
      await app.register(http, { registry: false, agents: [assistantOf('named')] })
    },
    async (app) => {
      await app.register(http, { prefix: '/a', agents: [assistantOf('a')] })
      await app.register(a2a, { agents: [assistantOf('b')] })
    }
  ]
  for (const [index, register] of cases.entries()) {
    const app = await build(register)
    const message =
      /Two agents named "assistant" have the registry id "(?:global|x)": one of (?:the app|@svc\/\w+ [\w ]+ ".+"), one of .+createRegistry\(\{ id \}\)/
    await t.rejects(async () => app.ready(), { code: 'REG_ERR_ID_SHARED', message }, `case ${index}`)
  }

  const [a, b] = [createRegistry(), createRegistry()]
  const app = await build(async (app) => {
    await app.register(http, { prefix: '/a', registry: a })
    await app.register(http, { prefix: '/b', registry: b, agents: [{ ...assistantOf('x'), name: 'named' }] })
  })
  await app.ready()
  const shared = assistantOf('a')
  a.add(shared)
  b.add(shared)
  t.pass('the same runnable may be in both')
  a.add({ ...assistantOf('a'), name: 'one' })
  for (const name of ['one', 'named'])
    t.throws(() => (name === 'one' ? b : a).add({ ...assistantOf('b'), name }), { code: 'REG_ERR_ID_SHARED' })
  t.equal(b.get('agent', 'one'), undefined, 'it is not added')
  t.throws(() => a.add(assistantOf('other'), { replace: true }), { code: 'REG_ERR_ID_SHARED' })
  a.add({ ...assistantOf('again'), name: 'one' }, { replace: true })
  const response = await app.inject({ method: 'POST', url: '/a/agents/one/run', payload: { input: 'x' } })
  t.match(response.json(), { text: 'again' })
  await app.close()
  b.add({ ...assistantOf('b'), name: 'one' })
  t.pass('a closed app holds up nobody')
})

t.test('registries without ids need none while runs are in memory', async (t) => {
  const [first, second, third] = [createRegistry(), createRegistry(), createRegistry()]
  first.add(assistantOf('first'))
  second.add(assistantOf('second'))
  third.add({ ...assistantOf('third'), name: 'other' })
  const served = await serve(t, async (app) => {
    for (const [name, registry] of Object.entries({ first, second, third })) {
      await app.register(http, { prefix: `/${name}`, registry })
      await app.register(a2a, { basePath: `/a2a/${name}`, registry })
    }
  })
  const { ask } = served
  const runId = await start(served, '/second/agents/assistant/run', 'wait')
  t.match(await ask('GET', `/second/runs/${runId}`), { status: 200 })
  for (const other of ['first', 'third'])
    t.match(await ask('GET', `/${other}/runs/${runId}`), { status: 404 }, other)
  t.match(await ask('POST', `/second/runs/${runId}/cancel`), { status: 200 })
  const { body } = await ask('POST', '/first/agents/assistant/run', { input: 'x' })
  t.equal(body.text, 'first')
  t.throws(() => third.add(assistantOf('third')), { code: 'REG_ERR_ID_SHARED' }, 'ids do not change later')
})

t.test('a runnable passed to a surface replaces the one of the same name in its registry', async (t) => {
  const registry = createRegistry()
  registry.add(flowOf('registered'))
  const { app, ask } = await serve(t, async (app) => {
    await app.register(registryPlugin, { registry })
    await app.register(http, { workflows: [flowOf('named')] })
  })
  const { body } = await ask('POST', '/workflows/flow/run', { input: 'x' })
  t.match(body, { text: 'named' })
  const hidden = await app.runs.start(registry.get('workflow', 'flow')!, 'x')
  t.match(await hidden.result(), { text: 'registered' })
  t.equal((await ask('GET', `/runs/${hidden.runId}`)).status, 404, 'that one is exposed nowhere')
  t.match((await ask('GET', '/runs')).body.runs, [{ runId: body.runId }])
  t.equal((await ask('GET', '/runs')).body.runs.length, 1)
  t.same(
    app.runs.surfaces.list().map(({ runnable }) => (runnable as Workflow).describe().description),
    ['named'],
    'nor does it go on with the runs of the other'
  )
})

const flowOf = (place: string) =>
  new Workflow({
    name: 'flow',
    description: place,
    register: false,
    steps: (flow) => flow.step('a', () => place)
  })

t.test('an id must be a plain name', async (t) => {
  for (const id of ['a', 'shop-2.eu_~', 'x'.repeat(64)]) t.equal(createRegistry({ id }).id, id)
  t.equal(createRegistry().id, 'global')
  for (const id of ['', 'a/b', 'a b', 'x'.repeat(65), 5, null])
    t.throws(
      () => createRegistry({ id: id as string }),
      { code: 'REG_ERR_BAD_OPTION', message: /id: / },
      String(id)
    )
  t.throws(() => createRegistry({ name: 'a' } as object), { code: 'REG_ERR_BAD_OPTION', message: /name/ })
})
