import { join } from 'node:path'
import a2a from '@svc/a2a'
import gateway from '@svc/gateway'
import http from '@svc/http'
import registryPlugin, {
  ANONYMOUS,
  createRegistry,
  defineRunnable,
  type Authenticate,
  type Authorize,
  type Runnable
} from '@svc/registry'
import { Team, Workflow } from '@svc/runtime'
import store from '@svc/store'
import type { FastifyInstance } from 'fastify'
import t from 'tap'
import { serve, until, type Served } from './helpers/serve.ts'

type Test = { teardown(fn: () => unknown): unknown; testdir(): string }
type Register = (app: FastifyInstance) => Promise<unknown>

/** Serves one app after another on the same file; runs wait two seconds for their runnable. */
function createService(t: Test) {
  const url = `sqlite:${join(t.testdir(), 'app.db')}`
  return (register: Register, options: object = {}) =>
    serve(t, async (app) => {
      await app.register(store, { url })
      await app.register(registryPlugin, { registry: createRegistry(), resumeTimeout: 2_000, ...options })
      await register(app)
    })
}

/** A workflow that waits for an approval before its last step, which returns its place. */
const flowOf = (place: string, name = 'flow') =>
  new Workflow({
    name,
    register: false,
    steps: (flow) =>
      flow
        .step('first', () => `first of ${place}`)
        .wait('review', { approval: {} })
        .step('last', ({ steps }) => `${steps.first}, last of ${place}`)
  })

/** Starts a workflow over HTTP, and returns its run once it waits. */
async function begin({ ask }: Served, prefix = '', name = 'flow', headers = {}): Promise<string> {
  const path = `${prefix}/workflows/${name}/run`
  const { body } = await ask('POST', path, { input: 'x' }, { prefer: 'respond-async', ...headers })
  const { runId } = body as { runId: string }
  await waiting(() => ask('GET', `${prefix}/runs/${runId}`, undefined, headers))
  return runId
}

const waiting = (look: () => Promise<{ body: { status: string } }>) =>
  until(look, ({ body }) => body.status === 'input-required')

/** Answers a run's pending approval, and returns its record once it has ended. */
async function finish({ ask }: Served, runId: string, prefix = '', headers = {}) {
  const answer = await ask('POST', `${prefix}/approvals/${runId}.1`, { approved: true }, headers)
  if (answer.status !== 200) return answer.body
  await ask('GET', `${prefix}/runs/${runId}/stream`, undefined, headers)
  return (await ask('GET', `${prefix}/runs/${runId}`, undefined, headers)).body
}

t.test('after a restart a workflow resumes with the steps of its own registry', async (t) => {
  const next = createService(t)
  const register: Register = async (app) => {
    for (const id of ['a', 'b']) {
      const registry = createRegistry({ id })
      registry.add(flowOf(id))
      await app.register(http, { prefix: `/${id}`, registry })
    }
  }
  const first = await next(register)
  const runId = await begin(first, '/b')
  await first.app.close()
  const second = await next(register)
  t.match(await finish(second, runId, '/b'), {
    status: 'completed',
    result: { text: 'first of b, last of b' }
  })
})

t.test('a workflow known only to a surface resumes, however it is exposed', async (t) => {
  const own = () => {
    const registry = createRegistry()
    registry.add(flowOf('x'))
    return registry
  }
  const ways: Record<string, Register> = {
    'http, own registry': async (app) => app.register(http, { registry: own() }),
    'http, list': async (app) => app.register(http, { workflows: [flowOf('x')] }),
    'http, map': async (app) => app.register(http, { workflows: { flow: flowOf('x', 'other') } }),
    'http, no registry': async (app) => app.register(http, { registry: false, workflows: [flowOf('x')] }),
    'sockets, list': async (app) => app.register(gateway, { workflows: [flowOf('x')] }),
    'a2a, list': async (app) => app.register(a2a, { agents: [flowOf('x')] }),
    'a2a, map': async (app) => app.register(a2a, { agents: { flow: flowOf('x', 'other') } })
  }
  for (const [way, register] of Object.entries(ways)) {
    const next = createService({ testdir: () => t.testdir({}), teardown: (fn) => t.teardown(fn) })
    const served = await next(register)
    const runId = await (way.startsWith('http') ? begin(served) : beginElsewhere(served, way))
    await served.app.close()
    const { app } = await next(register)
    await app.runs.answer(`${runId}.1`, { approved: true })
    for await (const _ of app.runs.parts(runId));
    t.match(
      await app.runs.get(runId),
      { status: 'completed', result: { text: 'first of x, last of x' } },
      way
    )
    await app.close()
  }
})

async function beginElsewhere({ app, rpc, connect }: Served, way: string): Promise<string> {
  const runId = way.startsWith('sockets')
    ? (await (await connect()).ask('workflow.run', { name: 'flow', input: 'x', onDisconnect: 'continue' }))
        .runId
    : (
        await rpc('/', 'message/send', {
          message: { role: 'user', messageId: crypto.randomUUID(), parts: [{ kind: 'text', text: 'x' }] }
        })
      ).id
  await waiting(async () => ({ body: (await app.runs.get(runId as string))! }))
  return runId as string
}

t.test('so does one added late to a surface’s own registry', async (t) => {
  const next = createService(t)
  const register =
    (own: ReturnType<typeof createRegistry>): Register =>
    async (app) =>
      app.register(http, { registry: own })
  const own = createRegistry()
  own.add(flowOf('x'))
  const first = await next(register(own))
  const runId = await begin(first)
  await first.app.close()
  const late = createRegistry()
  const second = await next(register(late), { resumeTimeout: 60_000 })
  t.match(await second.ask('POST', `/approvals/${runId}.1`, { approved: true }), { status: 200 })
  late.add(flowOf('x'))
  await second.ask('GET', `/runs/${runId}/stream`)
  t.match((await second.ask('GET', `/runs/${runId}`)).body, { status: 'completed' })
})

const byToken: Authenticate = ({ token }) => {
  if (token === undefined) return null
  return { sub: token, scopes: token === 'root' ? ['*'] : [] }
}
const as = (sub: string) => ({ authorization: `Bearer ${sub}` })

t.test('the owner and admins can still access a run whose runnable is missing', async (t) => {
  const next = createService(t)
  const register =
    (registry = createRegistry({ id: 'own' })): Register =>
    async (app) => {
      await app.register(http, { registry, authenticate: byToken })
      await app.register(gateway, { registry, authenticate: byToken })
      await app.register(a2a, { registry, basePath: '/a2a', authenticate: byToken })
      const other = createRegistry({ id: 'other' })
      await app.register(http, { prefix: '/other', registry: other, authenticate: byToken })
    }
  const held = createRegistry({ id: 'own' })
  held.add(flowOf('x'))
  held.add({ ...flowAsAgent(), name: 'agent' })
  const first = await next(register(held))
  const ada = as('ada')
  const ids = [await begin(first, '', 'flow', ada), await begin(first, '', 'flow', ada)] as const
  const started = await first.ask(
    'POST',
    '/agents/agent/run',
    { input: 'x' },
    { prefer: 'respond-async', ...ada }
  )
  const task = started.body.runId as string
  await waiting(() => first.ask('GET', `/runs/${task}`, undefined, ada))
  await first.app.close()

  const { ask, rpc, connect } = await next(register(), { resumeTimeout: 60_000 })
  const [runId, other] = ids
  for (const who of [ada, as('root')]) {
    t.match(await ask('GET', `/runs/${runId}`, undefined, who), { body: { status: 'input-required' } })
    t.match(await ask('GET', `/admin/runs?name=flow`, undefined, as('root')), {
      body: { runs: { length: 2 } }
    })
  }
  for (const path of [`/runs/${runId}`, `/runs/${runId}/stream`]) {
    t.equal((await ask('GET', path, undefined, as('eve'))).status, 404)
    t.equal((await ask('GET', `/other${path}`, undefined, ada)).status, 404, 'of another registry it is not')
  }
  t.equal((await ask('GET', '/runs', undefined, ada)).body.runs.length, 3)
  t.equal((await ask('GET', '/runs?name=flow', undefined, ada)).body.runs.length, 2)
  t.equal((await ask('GET', '/approvals', undefined, ada)).body.approvals.length, 3)
  t.same((await ask('GET', '/other/approvals', undefined, ada)).body.approvals, [])
  t.match(await ask('POST', '/workflows/flow/run', { input: 'x' }, ada), { status: 404 })

  t.match(await rpc('/a2a', 'tasks/get', { id: task }, ada), {
    id: task,
    status: { state: 'input-required' }
  })
  t.match(await rpc('/a2a', 'tasks/list', {}, ada), { tasks: [{ id: task }], totalSize: 1 })
  const { socket, ask: emit } = await connect('/', { token: 'ada' })
  const asked = new Promise((resolve) => socket.once('workflow.approval', resolve))
  t.match(await emit('run.watch', { runId }), { status: 'input-required' })
  t.match(await asked, { runId, approvalId: `${runId}.1` })
  t.match(await emit('approval.answer', { approvalId: `${runId}.1`, approved: true }), { ok: true })
  t.match(await emit('run.cancel', { runId: other }), { ok: true })
  t.match(await ask('GET', `/runs/${other}`, undefined, ada), { body: { status: 'canceled' } })
  t.match(await ask('POST', `/runs/${runId}/cancel`, undefined, ada), { body: { status: 'canceled' } })
  t.match(await rpc('/a2a', 'tasks/cancel', { id: task }, ada), { status: { state: 'canceled' } })
})

/** A resumable agent that waits for an approval. */
function flowAsAgent() {
  const flow = flowOf('x')
  return {
    kind: 'agent' as const,
    resumable: true,
    stream: (...args: Parameters<Runnable['stream']>) => flow.stream(...args)
  }
}

t.test('they can also access one whose runnable was removed', async (t) => {
  const { ask, connect } = await serve(t, async (app) => {
    const named = { workflows: [flowOf('x', 'named')] }
    const registry = createRegistry()
    registry.add(flowOf('x'))
    await app.register(http, { registry, ...named, authenticate: byToken })
    await app.register(gateway, { registry, authenticate: byToken })
    await app.register(http, { prefix: '/only', registry: false, ...named, authenticate: byToken })
  })
  const [ada, root] = [as('ada'), as('root')]
  const served = { ask } as Served
  for (const [prefix, name] of [
    ['', 'flow'],
    ['/only', 'named']
  ] as const) {
    const runId = await begin(served, prefix, name, ada)
    t.equal((await ask('DELETE', `${prefix}/admin/workflows/${name}`, undefined, root)).status, 204)
    t.equal((await ask('POST', `${prefix}/workflows/${name}/run`, { input: 'x' }, ada)).status, 404)
    for (const who of [ada, root])
      t.match(await ask('GET', `${prefix}/runs/${runId}`, undefined, who), {
        body: { status: 'input-required' }
      })
    t.match((await ask('GET', `${prefix}/runs`, undefined, ada)).body.runs, [{ runId }])
    t.match((await ask('GET', `${prefix}/approvals`, undefined, ada)).body.approvals, [{ runId }])
    t.equal((await ask('GET', `/only/runs/${runId}`, undefined, ada)).status, prefix === '' ? 404 : 200)
    const emit = (await connect('/', { token: 'ada' })).ask
    t.match(
      await emit('run.watch', { runId }),
      prefix === '' ? { status: 'input-required' } : { code: 'RUN_ERR_NOT_FOUND' }
    )
    t.match(await finish(served, runId, prefix, ada), { status: 'completed' })
  }
})

/** A workflow whose last step is a team with `delegates: false`. */
function guardedFlow(): Workflow {
  const member = defineRunnable({ kind: 'agent', name: 'member', run: () => 'of the member' })
  const crew = new Team({
    name: 'crew',
    mode: 'sequence',
    members: [member],
    delegates: false,
    register: false
  })
  return new Workflow({
    name: 'flow',
    register: false,
    steps: (flow) => flow.wait('review', { approval: {} }).step('crew', crew)
  })
}

t.test('a run has the same permissions before and after a restart, with a policy and without', async (t) => {
  const allowing: Authorize = () => ({ allowed: true })
  const forbidding: Authorize = (_principal, _action, { name }) => ({ allowed: name !== 'member' })
  const policies = [
    [{}, 'completed'],
    [{ authenticate: () => ANONYMOUS }, 'completed'],
    [{ authenticate: () => ANONYMOUS, authorize: allowing }, 'completed'],
    [{ authenticate: () => ANONYMOUS, authorize: forbidding }, 'failed']
  ] as const
  for (const [index, [policy, status]] of policies.entries()) {
    const label = `policy ${index}`
    const register: Register = async (app) => {
      const flow = app.registry.add(guardedFlow())
      await app.register(http, { prefix: '/api', ...policy })
      await app.register(gateway, policy)
      await app.register(a2a, { agents: [flow], ...policy })
      // The run belongs to the other registry.
      await app.register(http, { prefix: '/more', authorize: index === 3 ? allowing : forbidding })
    }
    const starts: ((served: Served) => Promise<string>)[] = [
      (served) => begin(served, '/api'),
      (served) => beginElsewhere(served, 'sockets'),
      (served) => beginElsewhere(served, 'a2a')
    ]
    for (const start of starts) {
      const next = createService({ testdir: () => t.testdir({}), teardown: (fn) => t.teardown(fn) })
      const first = await next(register)
      t.match(await finish(first, await start(first), '/api'), { status }, `${label}, in one process`)
      const runId = await start(first)
      await first.app.close()
      const second = await next(register)
      const record = await finish(second, runId, '/api')
      t.match(
        record,
        { status, ...(status === 'failed' && { error: { code: 'RUN_ERR_MEMBER_FORBIDDEN' } }) },
        label
      )
      await second.app.close()
    }
  }
})
