import { once } from 'node:events'
import {
  createRunEngine,
  defineRunnable,
  removeSession,
  type RunContext,
  type RunEngine,
  type SessionKey,
  type Stores
} from '@svc/registry'
import { createTestCluster } from '@svc/testing'
import t, { type Test } from 'tap'

const key: SessionKey = {
  registry: 'global',
  kind: 'agent',
  name: 'talk',
  owner: 'anonymous',
  sessionId: 's'
}

/** A runnable that takes its turns in the session as agents do, and leaves something everywhere. */
function talk(gate: (input: unknown) => Promise<unknown> | undefined) {
  return defineRunnable({
    kind: 'agent',
    name: 'talk',
    takesTurns: true,
    async *stream(input, context) {
      const { stores, sessionId, sessionOwner: owner, registry, idempotencyKey, signal } = context
      const own = { registry, owner, kind: 'agent', name: 'talk', sessionId } as const
      const end = await stores.sessions.lock(own, signal, idempotencyKey)
      try {
        yield { type: 'text', text: `re: ${String(input)}` }
        const waiting = gate(input)
        if (waiting) await Promise.race([waiting, once(signal, 'abort')])
        await leave(context, own, String(input))
      } finally {
        end()
      }
    }
  })
}

async function leave({ stores, runId }: RunContext, own: SessionKey, text: string): Promise<void> {
  const { owner, sessionId } = own
  await stores.sessions.append(own, runId, [{ role: 'user', content: text }])
  const member = { ...own, name: 'member' }
  await stores.sessions.append(member, `${runId}/member`, [{ role: 'user', content: text }])
  const item = { id: text, owner, text, createdAt: 1 }
  await stores.memory.put({ ...item, namespace: 'member', metadata: { runId, sessionId } })
  await stores.memory.put({ ...item, namespace: 'talk/window', metadata: { sessionId } })
  await stores.browserStates?.save(member, { cookies: [], origins: [] })
  await stores.remoteSessions?.save({ ...own, name: 'far' }, 'x', { contextId: text })
  await stores.files?.put(runId, { mimeType: 'text/plain', content: Buffer.from(text) })
}

async function countLeft(stores: Stores, sessionId: string) {
  const query = { owner: 'anonymous', sessionId, limit: 99 }
  const list = async (namespace: string) => (await stores.memory.list('anonymous', namespace, 99)).length
  return {
    runs: (await stores.runs.listOwned({ owner: 'anonymous', session: { ...key, sessionId }, limit: 99 }))
      .length,
    sessions: (await stores.sessions.keys(query)).length,
    states: (await stores.browserStates!.keys(query)).length,
    remotes: (await stores.remoteSessions!.keys(query)).length,
    memories: (await list('member')) + (await list('talk/window'))
  }
}

const none = { runs: 0, sessions: 0, states: 0, remotes: 0 }

function engineOn(t: Test, stores?: Stores): RunEngine {
  const engine = createRunEngine(stores && { stores })
  t.teardown(() => engine.close())
  return engine
}

const ask = async (engine: RunEngine, input: string, sessionId: string) =>
  (
    await engine.start(
      talk(() => undefined),
      input,
      { sessionId }
    )
  ).result()

t.test('a session goes with all that was made of it, and no other', async (t) => {
  const engine = engineOn(t)
  const { stores } = engine
  for (const id of ['s', 's', 'other']) await ask(engine, `word ${id}`, id)
  await stores.sessions.append({ ...key, name: 'else' }, 'r', [{ role: 'user', content: 'hello' }])
  await stores.browserStates!.save({ ...key, name: 'else' }, { cookies: [], origins: [] })
  const before = await countLeft(stores, 'other')
  t.same(before, { runs: 1, sessions: 2, states: 1, remotes: 1, memories: 4 })
  t.same(await removeSession(engine, key), { runs: 2, memories: 2, shared: 0, forks: 0 })
  t.same(
    await countLeft(stores, 's'),
    { ...none, sessions: 1, states: 1, memories: 2 },
    'that of another runnable'
  )
  t.same(await countLeft(stores, 'other'), { ...before, memories: 2 })
  t.equal(await stores.sessionIndex!.find(key), undefined)
  t.same(await removeSession(engine, key), { runs: 0, memories: 0, shared: 0, forks: 0 })
  await ask(engine, 'again', 's')
  t.equal((await stores.sessionIndex!.find(key))?.lastOrdinal, 1, 'it begins anew')
})

for (const [where, join] of [
  ['of this process', () => undefined],
  ['of another node', () => createTestCluster()]
] as const)
  t.test(`runs ${where} end first, those that wait too; what comes later stays`, async (t) => {
    const cluster = join()
    const engine = engineOn(t, cluster?.join().stores)
    const eraser = cluster === undefined ? engine : engineOn(t, cluster.join().stores)
    const begun = Promise.withResolvers<void>()
    const agent = talk((input) => {
      if (input !== 'later') begun.resolve()
      return input === 'later' ? undefined : new Promise(() => {})
    })
    const started = []
    for (const input of ['first', 'second', 'third'])
      started.push(await engine.start(agent, input, { sessionId: 's' }))
    const results = started.map((run) => run.result().then(({ finishReason }) => finishReason))
    await begun.promise
    const erased = removeSession(eraser, key)
    const { runs } = await erased
    t.equal(runs, 3)
    t.same(await Promise.all(results), ['canceled', 'canceled', 'canceled'])
    t.match(await countLeft(eraser.stores, 's'), { runs: 0, sessions: 0 })
    const later = await engine.start(agent, 'later', { sessionId: 's' })
    t.equal((await later.result()).text, 're: later')
    t.equal((await eraser.stores.sessionIndex!.find(key))?.turns, 1)
  })

t.test('callers without credentials remove the runs of their user id only', async (t) => {
  const engine = engineOn(t)
  for (const userId of ['ada', 'bob'])
    await (
      await engine.start(
        talk(() => undefined),
        'x',
        { sessionId: 's', userId }
      )
    ).result()
  t.match(await removeSession(engine, { ...key, owner: 'ada' }), { runs: 1 })
  const left = await engine.stores.runs.list({ limit: 9 })
  t.same(
    left.runs.map(({ userId }) => userId),
    ['bob']
  )
})

t.test('a deletion that fails is finished by the next one', async (t) => {
  const cluster = createTestCluster()
  const engine = engineOn(t, cluster.join().stores)
  const eraser = engineOn(t, cluster.join().stores)
  await ask(engine, 'x', 's')
  const run = await engine.start(
    talk(() => undefined),
    'x',
    { sessionId: 's' }
  )
  await run.result()
  const failing = {
    ...eraser.stores,
    memory: {
      ...eraser.stores.memory,
      removeSession() {
        throw new Error('down')
      }
    }
  }
  const broken = engineOn(t, failing)
  await t.rejects(removeSession(broken, key), { code: 'RUN_ERR_STORE' })
  t.ok(await eraser.stores.sessionIndex!.find(key), 'the session is found again')
  t.same(await removeSession(eraser, key), { runs: 0, memories: 2, shared: 0, forks: 0 })
  t.same(await countLeft(eraser.stores, 's'), { ...none, memories: 0 })
})

t.test('a deletion waits for the turn of the session, but not for ever', async (t) => {
  const engine = engineOn(t)
  await ask(engine, 'x', 's')
  const closed = new AbortController()
  const end = await engine.stores.sessions.lock(key, new AbortController().signal)
  const host = {
    stores: engine.stores,
    cancel: (runId: string) => engine.cancel(runId),
    closed: closed.signal
  }
  const erased = removeSession(host, key)
  closed.abort()
  await t.rejects(erased, { code: 'RUN_ERR_NOT_ENDED', statusCode: 409 })
  end()
  t.same(await removeSession(engine, key), { runs: 1, memories: 2, shared: 0, forks: 0 })
})
