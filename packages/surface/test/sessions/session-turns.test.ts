import { ANONYMOUS, type StoredSession } from '@svc/contract'
import { createRegistry, createRunEngine, defineRunnable, removeSession } from '@svc/registry'
import { codeOf } from '@svc/testing'
import {
  beginSession,
  findSession,
  findTurn,
  pageOfItems,
  partsOf,
  turnsFrom,
  turnsOfSession,
  type ListOrder,
  type SessionTurn
} from '@svc/surface'
import t, { type Test } from 'tap'

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = []
  for await (const item of items) found.push(item)
  return found
}

/** A surface whose agent `echo` waits for `release` before it answers `wait`. */
function surfaceOf(t: Test) {
  const runs = createRunEngine()
  t.teardown(() => runs.close())
  const { promise, resolve: release } = Promise.withResolvers<void>()
  const registry = createRegistry()
  const echo = defineRunnable({
    kind: 'agent',
    name: 'echo',
    takesTurns: true,
    async run(input, { sessionId, runId, signal, stores }) {
      const key = {
        registry: registryOf(),
        owner: 'anonymous',
        kind: 'agent',
        name: 'echo',
        sessionId
      } as const
      const end = await stores!.sessions.lock(key, signal, runId)
      if (input === 'wait') await promise
      end()
      return String(input)
    }
  })
  const other = defineRunnable({ kind: 'agent', name: 'other', run: () => 'x' })
  for (const runnable of [echo, other]) registry.add(runnable)
  const registryOf = () => exposed.startOptions(echo).registry
  const exposed = runs.surfaces.add({ surface: 'test', registry })
  const errors = { ForeignUser: class extends Error {} }
  const start = (input: string, sessionId = 's', runnable = echo) =>
    runs.start(runnable, input, { ...exposed.startOptions(runnable), sessionId })
  return { runs, exposed, errors, echo, other, release, start }
}

const idsOf = (turns: readonly SessionTurn[]) => turns.map(({ runId }) => runId)

t.test('a session is begun, and found by its id alone', async (t) => {
  const surface = surfaceOf(t)
  const { echo, other, start } = surface
  const fields = { metadata: { a: '1' }, settings: { wire: { b: 2 } } }
  const session = await beginSession(surface, echo, 'sess_', fields, ANONYMOUS)
  t.match(session, { kind: 'agent', name: 'echo', sessionId: /^sess_/, metadata: { a: '1' } })
  t.same(await findSession(surface, session.sessionId, ANONYMOUS), session)
  const missing = (sub: string, id = session.sessionId) =>
    codeOf(() => findSession(surface, id, { sub, scopes: [] }))
  t.equal(await missing('eve'), 'RUN_ERR_SESSION_NOT_FOUND')
  t.equal(await missing('anonymous', 'none'), 'RUN_ERR_SESSION_NOT_FOUND')
  await (await start('x', session.sessionId, other)).result()
  t.equal(await missing('anonymous'), 'RUN_ERR_SESSION_AMBIGUOUS')
})

t.test('turns are listed in their order, those that wait as the newest', async (t) => {
  const surface = surfaceOf(t)
  const { release, start } = surface
  const ended = [await start('1'), await start('2')]
  for (const run of ended) await run.result()
  const active = await start('wait')
  const waiting = [await start('4')]
  // Turns of one process that begin in the same millisecond have no order.
  while (Date.now() === (await surface.runs.find(waiting[0]!.runId))!.createdAt)
    await new Promise((resolve) => setImmediate(resolve))
  waiting.push(await start('5'))
  const order = idsOf([...ended, active, ...waiting])
  const session = (await findSession(surface, 's', ANONYMOUS)) as StoredSession
  const list = async (how: ListOrder, after?: string) =>
    idsOf(await all(turnsOfSession(surface, session, ANONYMOUS, how, after)))
  t.same(await list('asc'), order)
  t.same(await list('desc'), order.toReversed())
  for (const [at, runId] of order.entries()) {
    t.same(await list('asc', runId), order.slice(at + 1))
    t.same(await list('desc', runId), order.slice(0, at).toReversed())
    t.same(idsOf(await all(turnsFrom(surface, session, ANONYMOUS, 'asc', runId))), order.slice(at))
    const turn = (await findTurn(surface, session, runId, ANONYMOUS))!
    t.same([turn.runId, turn.ordinal, turn.run?.runId], [runId, at < 3 ? at + 1 : undefined, runId])
  }
  t.equal(await codeOf(() => list('asc', 'none')), 'RUN_ERR_NOT_FOUND')
  const foreign = await start('x', 'other')
  t.equal(await findTurn(surface, session, foreign.runId, ANONYMOUS), undefined)
  t.equal(await codeOf(() => list('desc', foreign.runId)), 'RUN_ERR_NOT_FOUND')
  release()
  for (const run of [active, ...waiting]) await run.result()
  t.same(await list('asc'), order)
})

t.test('a page of items continues after any item, in both orders', async (t) => {
  const surface = surfaceOf(t)
  for (const input of ['1', '2', '3']) await (await surface.start(input)).result()
  const session = await findSession(surface, 's', ANONYMOUS)
  const read = async ({ runId }: SessionTurn) =>
    (await all(partsOf(surface, session, runId))).map(({ seq, type }) => ({
      id: `${runId}.${seq}`,
      type,
      runId
    }))
  for (const order of ['asc', 'desc'] as const) {
    const whole = await pageOfItems(turnsOfSession(surface, session, ANONYMOUS, order), read, {
      order,
      limit: 99
    })
    t.equal(whole?.hasMore, false)
    const items = whole!.items
    t.equal(items.length, 9)
    for (const [at, after] of items.entries()) {
      const turns = turnsFrom(surface, session, ANONYMOUS, order, after.runId)
      const page = (await pageOfItems(turns, read, { order, limit: 4, after }))!
      t.same(page.items, items.slice(at + 1, at + 5))
      t.equal(page.hasMore, at + 5 < items.length)
    }
    const after = { runId: items[0]!.runId, id: 'none' }
    const turns = turnsFrom(surface, session, ANONYMOUS, order, after.runId)
    t.equal(await pageOfItems(turns, read, { order, limit: 4, after }), undefined)
  }
})

t.test('a turn whose log is gone has what its session saved', async (t) => {
  const surface = surfaceOf(t)
  const { runs } = surface
  const key = { registry: 'global', kind: 'agent', name: 'echo', owner: 'anonymous', sessionId: 's' } as const
  for (const turn of ['r1', 'r2', 'r3'])
    await runs.stores.sessions.append(key, turn, [
      { role: 'user', content: `to ${turn}` },
      { role: 'assistant', text: `of ${turn}` }
    ])
  const session = (await runs.sessions.find(key))!
  const parts = await all(partsOf(surface, session, 'r2'))
  t.match(parts, [{ type: 'start', input: 'to r2' }, { type: 'step.start' }, { type: 'text', text: 'of r2' }])
  t.same(await all(partsOf(surface, session, 'none')), [])
  await removeSession(runs, key)
  t.same(await all(partsOf(surface, session, 'r2')), [])
})
