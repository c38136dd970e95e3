import {
  ANONYMOUS,
  sessionKeyText,
  type MemoryItem,
  type OwnedSessions,
  type SessionKey,
  type SessionMessage,
  type Stores
} from '@svc/contract'
import { HOSTILE_TEXT, withStore, type ContractTest, type MakeStore } from './contract-test.ts'
import { completed, storedRun } from './stored-run.ts'

const key: SessionKey = { registry: 'global', owner: 'ada', kind: 'agent', name: 'echo', sessionId: 's' }
const turn = (content: string): SessionMessage[] => [{ role: 'user', content }]
const ids = (...wanted: { runId: string }[]) => wanted.map(({ runId }) => runId).sort()
const keysOf = async (store: OwnedSessions, sessionId?: string, limit = 99) => {
  const query = { owner: 'ada', limit, ...(sessionId !== undefined && { sessionId }) }
  return (await store.keys(query)).map(sessionKeyText).sort()
}

/** The contract of stores that belong together: they find and remove what belongs to a session, or to a person. */
export function erasureContract(t: ContractTest, make: MakeStore<Stores>): void {
  const test = (name: string, run: (t: ContractTest, stores: Stores) => Promise<void>) =>
    withStore(t, make, name, run)

  for (const port of ['sessions', 'browserStates', 'remoteSessions'] as const)
    test(`${port} find the sessions of an owner, also those of steps`, async (t, stores) => {
      const store = stores[port]
      if (store === undefined) return
      const write = (each: SessionKey) => writeTo(stores, port, each)
      const same = [key, { ...key, name: 'other' }, { ...key, registry: 'b', kind: 'team' as const }]
      const steps = ['s/step', 's/a/b', `s/${HOSTILE_TEXT}`].map((sessionId) => ({ ...key, sessionId }))
      const others = ['s0', 's.', 'S', HOSTILE_TEXT].map((sessionId) => ({ ...key, sessionId }))
      const all = [...same, ...steps, ...others]
      for (const each of [...all, { ...key, owner: 'bob' }]) await write(each)
      for (const each of all) await write(each)
      t.same(await keysOf(store, 's'), [...same, ...steps].map(sessionKeyText).sort())
      t.same(await keysOf(store, HOSTILE_TEXT), [sessionKeyText(others.at(-1)!)])
      t.same(await keysOf(store), all.map(sessionKeyText).sort())
      t.equal((await keysOf(store, undefined, 2)).length, 2)
      t.same(await keysOf(store, 'missing'), [])
      await store.remove(key)
      t.equal((await keysOf(store)).includes(sessionKeyText(key)), false)
      t.same(await store.keys({ owner: 'bob', limit: 9 }), [{ ...key, owner: 'bob' }])
    })

  test('removes the turns of members and steps of a run, and no other', async (t, stores) => {
    const { sessions, sessionIndex } = stores
    const member = { ...key, name: 'member' }
    const own = storedRun()
    await stores.runs.create(own)
    await sessionIndex?.enter(key, own.runId)
    for (const turnId of ['r1/a', 'r1/a/b', 'r2/a', 'r10/a'])
      await sessions.append(member, turnId, turn(turnId))
    for (const turnId of ['r1/a', own.runId, 'r1']) await sessions.append(key, turnId, turn(turnId))
    const many = Array.from({ length: 120 }, (_, at) => `none${at}`)
    await sessions.removeTurns(member, ['r1', ...many])
    t.same(await sessions.load(member, 9), [...turn('r2/a'), ...turn('r10/a')])
    await sessions.removeTurns(key, ['r1', own.runId])
    t.same(await sessions.load(key, 9), [...turn(own.runId), ...turn('r1')])
    if (sessionIndex) t.equal((await sessionIndex.find(key))?.turns, 2)
    await sessions.removeTurns(member, [...many, 'r2', 'r10'])
    t.same(await keysOf(sessions), [sessionKeyText(key)], 'a session without messages goes too')
    await sessions.removeTurns({ ...key, name: 'missing' }, ['r1'])
  })

  test('removes the memories of a session', async (t, { memory }) => {
    const put = (id: string, fields: Partial<MemoryItem>) =>
      memory.put({ id, owner: 'ada', namespace: 'echo', text: `word${id}`, createdAt: 1, ...fields })
    await put('1', { metadata: { sessionId: 's', runId: 'r' } })
    await put('2', { metadata: { sessionId: 's/step' }, namespace: 'echo/window' })
    await put('3', { metadata: { sessionId: 's0' } })
    await put('4', {})
    await put('5', { metadata: { sessionId: 's' }, owner: 'bob' })
    await put('6', { metadata: { sessionId: 7 } })
    await put('7', { metadata: { sessionId: 's' }, namespace: 'other' })
    const asked: string[] = []
    const removed = await memory.removeSession('ada', 's', ({ namespace, metadata }) => {
      asked.push(`${namespace} ${JSON.stringify(metadata)}`)
      return namespace !== 'other'
    })
    t.equal(removed, 2)
    t.same([...new Set(asked)].sort(), [
      'echo {"sessionId":"s","runId":"r"}',
      'echo/window {"sessionId":"s/step"}',
      'other {"sessionId":"s"}'
    ])
    t.same((await memory.list('ada', 'echo', 9)).map(({ id }) => id).sort(), ['3', '4', '6'])
    t.same(await memory.search('ada', 'echo', 'word1', 9), [])
    t.same(await memory.list('ada', 'echo/window', 9), [])
    t.equal((await memory.list('ada', 'other', 9)).length, 1)
    t.equal((await memory.list('bob', 'echo', 9)).length, 1)
  })

  test('removes the memories of an owner, a page at a time', async (t, { memory }) => {
    for (const owner of ['ada', 'bob'])
      for (const namespace of ['a', 'b'])
        for (const id of ['1', '2', '3'])
          await memory.put({ id, owner, namespace, text: 'blue fox', createdAt: 1 })
    t.equal(await memory.removeOwner('ada', 4), 4)
    t.equal(await memory.removeOwner('ada', 4), 2)
    t.equal(await memory.removeOwner('ada', 4), 0)
    for (const namespace of ['a', 'b']) {
      t.same(await memory.search('ada', namespace, 'fox', 9), [])
      t.equal((await memory.search('bob', namespace, 'fox', 9)).length, 3)
    }
    await memory.put({ id: '1', owner: 'ada', namespace: 'a', text: 'again', createdAt: 1 })
    t.equal((await memory.list('ada', 'a', 9)).length, 1)
  })

  test('finds the runs of a person', async (t, { runs, log }) => {
    const owner = ANONYMOUS.sub
    const session = { registry: 'global', kind: 'agent', name: 'echo', sessionId: 's' } as const
    const made = {
      ada: storedRun({ sessionId: 's' }),
      other: storedRun({ sessionId: 'other' }),
      team: storedRun({ sessionId: 's', kind: 'team' }),
      named: storedRun({ sessionId: 's', owner, userId: 'ada' }),
      nameless: storedRun({ sessionId: 's', owner }),
      bob: storedRun({ sessionId: 's', owner: 'bob' })
    }
    const { ada, other, team, named, nameless } = made
    for (const run of Object.values(made)) await runs.create(run)
    await log.append(ada.runId, 1, [], completed)
    const find = async (query: Partial<Parameters<typeof runs.listOwned>[0]> = {}) =>
      (await runs.listOwned({ owner: 'ada', limit: 9, ...query })).sort()
    t.same(await find(), ids(ada, other, team, named))
    t.same(await find({ session }), ids(ada, named))
    t.same(await find({ unfinished: true }), ids(other, team, named))
    t.same(await find({ session, unfinished: false }), ids(ada))
    t.same(await find({ owner }), ids(nameless), 'those of named callers are not of all')
    t.equal((await find({ limit: 1 })).length, 1)
    t.equal((await runs.find(named.runId))?.userId, 'ada')
    t.equal((await runs.get(nameless.runId))?.userId, undefined)
  })
}

async function writeTo(
  { sessions, browserStates, remoteSessions }: Stores,
  port: 'sessions' | 'browserStates' | 'remoteSessions',
  key: SessionKey
): Promise<void> {
  if (port === 'sessions') await sessions.append(key, 'r/member', turn('hello'))
  if (port === 'browserStates') await browserStates!.save(key, { cookies: [], origins: [] })
  if (port === 'remoteSessions')
    for (const remote of ['x', 'y']) await remoteSessions!.save(key, remote, { contextId: 'c' })
}
