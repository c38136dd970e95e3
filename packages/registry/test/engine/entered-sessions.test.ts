import {
  createInProcessStores,
  createRunEngine,
  defineRunnable,
  type Runnable,
  type SessionIndex
} from '@svc/registry'
import { scriptedRunnable, talkingRunnable } from '@svc/testing'
import t, { type Test } from 'tap'

const scope = {
  runnables: [],
  registry: { id: 'global', kinds: ['agent', 'team', 'workflow'], except: [] }
} as const

function engineFor(t: Test) {
  const stores = createInProcessStores()
  const engine = createRunEngine({ stores })
  t.teardown(() => engine.close())
  const index = stores.sessionIndex as SessionIndex
  const list = async () => (await index.list({ owner: 'anonymous', scope, limit: 9 })).sessions
  return { engine, index, list }
}

/** A runnable that takes its turns in the session as agents do, and saves what it was asked. */
const turnTaking = (before?: () => Promise<void>): Runnable =>
  defineRunnable(talkingRunnable(before === undefined ? {} : { before }))

t.test('a run that takes turns enters its session with its turn', async (t) => {
  const { engine, index, list } = engineFor(t)
  const gate = Promise.withResolvers<void>()
  const agent = turnTaking(() => gate.promise)
  const first = await engine.start(agent, 'first', { sessionId: 's' })
  const second = await engine.start(agent, 'second', { sessionId: 's' })
  const [session] = await list()
  t.match(session, { sessionId: 's', turns: 0, lastOrdinal: 1, activeRun: first.runId })
  gate.resolve()
  await Promise.all([first.result(), second.result()])
  t.match(await list(), [{ title: 'first', turns: 2, lastOrdinal: 2, activeRun: null }])
  t.same(
    (await index.runs(session!, 0, 9)).map(({ runId }) => runId),
    [first.runId, second.runId]
  )
})

t.test('a queued run that is canceled before its turn has never entered', async (t) => {
  const { engine, index, list } = engineFor(t)
  const gate = Promise.withResolvers<void>()
  const agent = turnTaking(() => gate.promise)
  const first = await engine.start(agent, 'first', { sessionId: 's' })
  const second = await engine.start(agent, 'second', { sessionId: 's' })
  const third = await engine.start(agent, 'third', { sessionId: 's' })
  await second.cancel()
  gate.resolve()
  await Promise.all([first.result(), third.result()])
  const [session] = await list()
  t.same(
    (await index.runs(session!, 0, 9)).map(({ runId }) => runId),
    [first.runId, third.runId]
  )
})

t.test('a new session of a runnable that takes turns is listed', async (t) => {
  const { engine, list } = engineFor(t)
  const run = await engine.start(turnTaking(), 'x')
  await run.result()
  t.match(await list(), [{ sessionId: run.sessionId, turns: 1 }])
})

t.test('a run without turns enters the session that it was given, at acceptance', async (t) => {
  const { engine, index, list } = engineFor(t)
  const workflow = scriptedRunnable([{ type: 'text', text: 'a' }], { kind: 'workflow', name: 'flow' })
  const own = await engine.start(workflow, 'x')
  await own.result()
  t.same(await list(), [], 'a session that it made for itself is not listed')
  const first = await engine.start(workflow, 'x', { sessionId: 's' })
  const second = await engine.start(workflow, 'x', { sessionId: 's' })
  const [session] = await list()
  t.match(session, { kind: 'workflow', name: 'flow', sessionId: 's', title: null, turns: 0, lastOrdinal: 2 })
  await Promise.all([first.result(), second.result()])
  t.same(
    (await index.runs(session!, 0, 9)).map(({ runId }) => runId),
    [first.runId, second.runId]
  )
})

t.test('callers without credentials have sessions of their user ids', async (t) => {
  const { engine, index, list } = engineFor(t)
  await (await engine.start(turnTaking(), 'x', { userId: 'ada' })).result()
  t.same(await list(), [])
  t.equal((await index.list({ owner: 'ada', scope, limit: 9 })).sessions.length, 1)
})
