import {
  createRunEngine,
  defineRunnable,
  GLOBAL_REGISTRY,
  removeSession,
  type ChannelPart,
  type SessionKey
} from '@svc/registry'
import t from 'tap'

const key: SessionKey = {
  registry: GLOBAL_REGISTRY,
  kind: 'agent',
  name: 'echo',
  owner: 'anonymous',
  sessionId: 's'
}
const echo = defineRunnable({ kind: 'agent', name: 'echo', run: (input) => String(input) })

async function take(parts: AsyncIterable<ChannelPart>, count: number): Promise<ChannelPart[]> {
  const taken: ChannelPart[] = []
  for await (const part of parts) if (taken.push(part) === count) break
  return taken
}

t.test('the parts of all runs come in order, and from any place', async (t) => {
  const engine = createRunEngine()
  t.teardown(() => engine.close())
  const say = async (input: string) => {
    const run = await engine.start(echo, input, { sessionId: 's' })
    await run.result()
    return run.runId
  }
  const first = await say('one')
  const all = take(engine.sessions.parts(key, '0.0'), 9)
  const second = await say('two')
  const live = take(engine.sessions.parts(key), 3)
  const third = await say('three')
  const parts = await all
  t.same(
    parts.map(({ runId }) => runId),
    [first, second, third].flatMap((runId) => [runId, runId, runId])
  )
  t.same(
    parts.map(({ id }) => id),
    ['1.1', '1.2', '1.3', '2.1', '2.2', '2.3', '3.1', '3.2', '3.3']
  )
  t.same(await live, parts.slice(6))
  t.same(await take(engine.sessions.parts(key, '2.2'), 4), parts.slice(5))
})

t.test(
  'readers that come at the same time get the same, and all learn that the session is removed',
  async (t) => {
    const engine = createRunEngine()
    t.teardown(() => engine.close())
    for (const input of ['one', 'two']) await (await engine.start(echo, input, { sessionId: 's' })).result()
    const readings = Array.from({ length: 3 }, () => engine.sessions.parts(key, '0.0'))
    const taken = await Promise.all(
      readings.map(async (parts) => {
        const ids: string[] = []
        for (let n = 0; n < 6; n++) ids.push((await parts.next()).value?.id ?? '')
        return ids
      })
    )
    t.same(
      taken,
      Array.from({ length: 3 }, () => ['1.1', '1.2', '1.3', '2.1', '2.2', '2.3'])
    )
    const ends = readings.map((parts) => t.rejects(parts.next(), { code: 'RUN_ERR_SESSION_NOT_FOUND' }))
    await removeSession(engine, key)
    await Promise.all(ends)
  }
)

t.test('a place whose log is no longer kept is said, before and after the reader began', async (t) => {
  const engine = createRunEngine()
  t.teardown(() => engine.close())
  const ids: string[] = []
  for (const input of ['one', 'two', 'three']) {
    const run = await engine.start(echo, input, { sessionId: 's' })
    await run.result()
    ids.push(run.runId)
  }
  const reading = engine.sessions.parts(key, '0.0')
  for (let n = 0; n < 3; n++) await reading.next()
  for (const runId of ids.slice(0, 2)) await engine.stores.runs.remove(runId)
  await t.rejects(reading.next(), { code: 'RUN_ERR_LOG_GONE', statusCode: 410 })
  await t.rejects(engine.sessions.open(key, '1.2'), { code: 'RUN_ERR_LOG_GONE' })
  t.equal((await take(engine.sessions.parts(key, '3.0'), 1))[0]?.id, '3.1')
})

t.test('a place in a run that has entered since the session was read is known', async (t) => {
  const engine = createRunEngine()
  t.teardown(() => engine.close())
  await (await engine.start(echo, 'one', { sessionId: 's' })).result()
  const session = (await engine.sessions.find(key))!
  await (await engine.start(echo, 'two', { sessionId: 's' })).result()
  const reader = await engine.sessions.open(session, '2.1')
  t.match(await reader.read(), [{ seq: 2 }, { seq: 3 }])
  reader.close()
  await t.rejects(engine.sessions.open(session, '3.1'), { code: 'RUN_ERR_LOG_GONE' })
  await removeSession(engine, key)
  await t.rejects(engine.sessions.open(session, '2.1'), { code: 'RUN_ERR_LOG_GONE' })
})

t.test('readers end with the engine and with their signal', async (t) => {
  const engine = createRunEngine()
  await (await engine.start(echo, 'one', { sessionId: 's' })).result()
  const left = new AbortController()
  const one = engine.sessions.parts(key, undefined, left.signal).next()
  const other = engine.sessions.parts(key).next()
  setImmediate(() => left.abort())
  t.same(await one, { done: true, value: undefined })
  await engine.close()
  t.same(await other, { done: true, value: undefined })
})

t.test('what is wrong with a change is said', async (t) => {
  const engine = createRunEngine()
  t.teardown(() => engine.close())
  await (await engine.start(echo, 'one', { sessionId: 's' })).result()
  const refuse = (change: object) =>
    t.rejects(engine.sessions.update(key, change), { code: 'RUN_ERR_BAD_SESSION' })
  await refuse({ title: 'x'.repeat(201) })
  await refuse({ metadata: { a: 1 } })
  await refuse({ name: 'x' })
  await t.rejects(engine.sessions.update({ ...key, sessionId: 'none' }, { title: 'x' }), {
    code: 'RUN_ERR_SESSION_NOT_FOUND'
  })
  t.match(await engine.sessions.update(key, { title: 'Mine', metadata: { a: 'b' } }), { title: 'Mine' })
  t.match(await engine.sessions.update(key, { metadata: null }), { title: 'Mine', metadata: null })
})
