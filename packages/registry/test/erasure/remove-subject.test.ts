import {
  createRunEngine,
  defineRunnable,
  removeSubject,
  type RunEngine,
  type SessionKey
} from '@svc/registry'
import t, { type Test } from 'tap'

const none = {
  schedules: 0,
  webhooks: 0,
  runs: 0,
  sessions: 0,
  memories: 0,
  browserStates: 0,
  remoteSessions: 0,
  tasks: 0
}
const keyOf = (owner: string, sessionId: string): SessionKey => ({
  registry: 'global',
  kind: 'agent',
  name: 'talk',
  owner,
  sessionId
})
const talk = (gate?: Promise<void>) =>
  defineRunnable({
    kind: 'agent',
    name: 'talk',
    takesTurns: true,
    resumable: true,
    async run(input, { stores, runId, sessionId, sessionOwner: owner }) {
      await gate
      const item = { id: runId, owner, namespace: 'talk', text: String(input), createdAt: 1 }
      await stores.memory.put({ ...item, metadata: { runId, sessionId } })
      await stores.sessions.append(keyOf(owner, sessionId), runId, [{ role: 'user', content: String(input) }])
      return 'x'
    }
  })

function engineFor(t: Test): RunEngine {
  const engine = createRunEngine()
  t.teardown(() => engine.close())
  return engine
}

t.test('all that belongs to a person is removed, more than a page too', async (t) => {
  const engine = engineFor(t)
  const { stores } = engine
  const principalOf = (sub: string) => ({ sub, scopes: [] })
  for (let at = 0; at < 120; at++) {
    const run = await engine.start(talk(), 'x', { sessionId: `s${at}`, principal: principalOf('ada') })
    await run.result()
    await stores.browserStates!.save(keyOf('ada', `b${at}`), { cookies: [], origins: [] })
    const task = { registry: 'global', owner: 'ada', agentName: 'talk', createdAt: at, messages: ['x'] }
    await stores.tasks.create({ ...task, taskId: `t${at}`, contextId: 'c' }, `m${at}`)
  }
  await engine.schedules.create(talk(), { cron: '* * * * *', input: 'x' }, { principal: principalOf('ada') })
  const secrets = [`whsec_${Buffer.alloc(24).toString('base64')}`]
  await engine.webhooks.create({ url: 'https://1.1.1.1/', secrets }, { principal: principalOf('ada') })
  const others = await engine.start(talk(), 'x', { sessionId: 's0', principal: principalOf('bob') })
  await others.result()
  const open = await engine.start(talk(new Promise(() => {})), 'x', { principal: principalOf('ada') })
  const sizes = {
    schedules: 1,
    webhooks: 1,
    runs: 121,
    sessions: 120,
    memories: 120,
    browserStates: 120,
    tasks: 120
  }
  t.same(await removeSubject(engine, 'ada'), { ...none, ...sizes })
  t.equal((await open.result()).finishReason, 'canceled')
  t.same(await removeSubject(engine, 'ada'), none)
  t.ok(await engine.find(others.runId))
  t.same(await removeSubject(engine, 'bob'), { ...none, runs: 1, sessions: 1, memories: 1 })
})

t.test('a caller without credentials is removed by its user id', async (t) => {
  const engine = engineFor(t)
  for (const userId of ['ada', 'bob']) await (await engine.start(talk(), 'x', { userId })).result()
  await (await engine.start(talk(), 'x')).result()
  const one = { ...none, runs: 1, sessions: 1, memories: 1 }
  t.same(await removeSubject(engine, 'ada'), one)
  t.same(await removeSubject(engine, 'anonymous'), one, 'those without a user id')
  t.same(await removeSubject(engine, 'bob'), one)
})

t.test('one who keeps starting runs is not removed', async (t) => {
  const engine = engineFor(t)
  const principal = { sub: 'ada', scopes: [] }
  const start = () => engine.start(talk(), 'x', { sessionId: 's', principal })
  await (await start()).result()
  const { stores } = engine
  const busy = {
    ...engine,
    stores: {
      ...stores,
      tasks: {
        ...stores.tasks,
        async list(query: Parameters<typeof stores.tasks.list>[0]) {
          await (await start()).result()
          return stores.tasks.list(query)
        }
      }
    },
    closed: engine.closed,
    cancel: (runId: string) => engine.cancel(runId)
  }
  await t.rejects(removeSubject(busy, 'ada'), { code: 'RUN_ERR_NOT_ENDED', statusCode: 409 })
  t.match(await removeSubject(engine, 'ada'), { runs: 1 })
})
