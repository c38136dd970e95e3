import type { SessionIndex, SessionKey, SessionMessage, SessionQuery, Stores } from '@svc/contract'
import { codeOf, HOSTILE_TEXT, withStore, type ContractTest, type MakeStore } from './contract-test.ts'
import { completed, storedRun } from './stored-run.ts'

/** The stores that a `SessionIndex` belongs to. */
export interface IndexStores extends Pick<Stores, 'runs' | 'log' | 'sessions'> {
  readonly sessionIndex: SessionIndex
}

const key: SessionKey = { registry: 'global', owner: 'ada', kind: 'agent', name: 'echo', sessionId: 's' }
const scope = {
  runnables: [],
  registry: { id: 'global', kinds: ['agent', 'team', 'workflow'], except: [] }
} as const
const own: SessionQuery = { owner: 'ada', scope, limit: 9 }
const turn = (text: string): SessionMessage[] => [
  { role: 'user', content: text },
  { role: 'assistant', text: `re: ${text}` }
]

const idsOf = (sessions: readonly SessionKey[]) => sessions.map(({ sessionId }) => sessionId)

/** Begins a run, which enters a session. */
async function enter({ runs, sessionIndex }: IndexStores, session: SessionKey): Promise<string> {
  const { sessionId, kind, name, registry, owner } = session
  const run = storedRun({ sessionId, kind, name, registry, owner })
  await runs.create(run)
  await sessionIndex.enter(session, run.runId)
  return run.runId
}

/** The contract of every `SessionIndex` beside its other stores. */
export function sessionIndexContract(t: ContractTest, make: MakeStore<IndexStores>): void {
  const test = (name: string, run: (t: ContractTest, stores: IndexStores) => Promise<void>) =>
    withStore(t, make, name, run)

  test('lists a session from the moment in which a run enters', async (t, stores) => {
    const { sessionIndex, sessions, log } = stores
    t.equal(await sessionIndex.find(key), undefined)
    t.same(await sessionIndex.runs(key, 0, 9), [])
    const first = await enter(stores, key)
    const begun = await sessionIndex.find(key)
    const fields = { ...key, title: null, metadata: null, turns: 0, lastOrdinal: 1, activeRun: first }
    t.same({ ...begun, createdAt: 0, updatedAt: 0 }, { ...fields, createdAt: 0, updatedAt: 0 })
    t.ok(Math.abs(begun!.createdAt - Date.now()) < 60_000)
    await sessions.append(key, first, turn('  Hello,\n  world '), { runId: first, epoch: 1 })
    await log.append(first, 1, [], completed)
    const second = await enter(stores, key)
    await sessionIndex.enter(key, first)
    await sessionIndex.enter(key, second)
    const found = (await sessionIndex.find(key))!
    const { title, turns, lastOrdinal, activeRun } = found
    t.same([title, turns, lastOrdinal, activeRun], ['Hello, world', 1, 2, second])
    await log.append(second, 1, [], completed)
    t.equal((await sessionIndex.find(key))?.activeRun, null)
    t.same(await sessionIndex.runs(key, 0, 9), [
      { ordinal: 1, runId: first },
      { ordinal: 2, runId: second }
    ])
    t.same(await sessionIndex.runs(key, 0, 1), [{ ordinal: 1, runId: first }])
    t.same(await sessionIndex.runs(key, 1, 9), [{ ordinal: 2, runId: second }])
    t.same(await sessionIndex.runs(key, 2, 9), [])
    t.same(await sessionIndex.runs(key, Number.MAX_SAFE_INTEGER, 9), [])
    const newestFirst = [
      { ordinal: 2, runId: second },
      { ordinal: 1, runId: first }
    ]
    t.same(await sessionIndex.runsBefore(key, 3, 9), newestFirst)
    t.same(await sessionIndex.runsBefore(key, Number.MAX_SAFE_INTEGER, 9), newestFirst, 'all of them')
    t.same(await sessionIndex.runsBefore(key, 99, 1), [{ ordinal: 2, runId: second }])
    t.same(await sessionIndex.runsBefore(key, 2, 9), [{ ordinal: 1, runId: first }])
    t.same(await sessionIndex.runsBefore(key, 1, 9), [])
    t.same(await sessionIndex.runsBefore({ ...key, name: 'other' }, 9, 9), [])
    t.same([await sessionIndex.ordinalOf(key, first), await sessionIndex.ordinalOf(key, second)], [1, 2])
    t.equal(await sessionIndex.ordinalOf({ ...key, name: 'other' }, first), undefined)
    t.equal(await sessionIndex.ordinalOf(key, 'other'), undefined)
  })

  test('creates a session before its first run, once', async (t, stores) => {
    const { sessionIndex, sessions } = stores
    const settings = { wire: { instructions: HOSTILE_TEXT, tools: [{ name: 'a' }] } }
    const created = await sessionIndex.create(key, { title: 'T', metadata: { a: '1' }, settings })
    const fields = { ...key, title: 'T', metadata: { a: '1' }, turns: 0, lastOrdinal: 0, activeRun: null }
    t.same({ ...created, createdAt: 0, updatedAt: 0 }, { ...fields, createdAt: 0, updatedAt: 0 })
    t.same(await sessionIndex.find(key), created)
    t.same(idsOf((await sessionIndex.list({ ...own, sessionId: 's' })).sessions), ['s'])
    t.same((await sessionIndex.messages(key, { limit: 9 })).messages, [])
    t.equal(await codeOf(() => sessionIndex.create(key, {})), 'RUN_ERR_SESSION_EXISTS')
    t.same(await sessionIndex.settings(key), settings)

    const first = await enter(stores, key)
    await sessions.append(key, first, turn('Hello'), { runId: first, epoch: 1 })
    const found = (await sessionIndex.find(key))!
    t.same([found.title, found.turns, found.lastOrdinal, found.activeRun], ['T', 1, 1, first])
    t.same(await sessionIndex.runs(key, 0, 9), [{ ordinal: 1, runId: first }])
    t.same(await sessionIndex.settings(key), settings)

    const member = { ...key, name: 'member' }
    await sessions.append(member, 'r/member', turn('a'))
    t.equal(await codeOf(() => sessionIndex.create(member)), 'RUN_ERR_SESSION_EXISTS')
    const untitled = { ...key, sessionId: 'untitled' }
    await sessionIndex.create(untitled)
    await sessions.append(untitled, 'r', turn('Hello'))
    t.equal((await sessionIndex.find(untitled))?.title, 'Hello')
  })

  test('creates one session of those that are created at once', async (t, { sessionIndex }) => {
    const all = Array.from({ length: 5 }, () => codeOf(() => sessionIndex.create(key)))
    const codes = await Promise.all(all)
    t.equal(codes.filter((code) => code === 'RUN_ERR_SESSION_EXISTS').length, 4)
    t.ok(codes.includes('none'))
  })

  test('keeps settings of a session until it is removed, also for its forks', async (t, stores) => {
    const { sessionIndex, sessions } = stores
    t.equal(await sessionIndex.settings(key), undefined)
    await enter(stores, key)
    await sessions.append(key, 'turn', turn('Hello'))
    t.equal(await sessionIndex.settings(key), undefined)
    await sessionIndex.update(key, { settings: { wire: 1 } })
    await sessionIndex.update(key, { title: 'T' })
    t.same(await sessionIndex.settings(key), { wire: 1 })
    const fork = { ...key, sessionId: 'fork' }
    await sessionIndex.fork(key, 'fork')
    await sessionIndex.update(key, { settings: null })
    t.equal(await sessionIndex.settings(key), undefined)
    t.same(await sessionIndex.settings(fork), { wire: 1 })
    await sessions.remove(fork)
    await enter(stores, fork)
    t.equal(await sessionIndex.settings(fork), undefined)
  })

  test('refuses a run that was removed, and leaves no session behind', async (t, { sessionIndex }) => {
    t.equal(await codeOf(() => sessionIndex.enter(key, 'gone')), 'RUN_ERR_FENCED')
    t.equal(await sessionIndex.find(key), undefined)
  })

  test('numbers the runs that enter at the same time without gaps', async (t, stores) => {
    const other = { ...key, sessionId: 'other' }
    const entered = await Promise.all(
      Array.from({ length: 12 }, (_, index) => enter(stores, index % 3 === 0 ? other : key))
    )
    const ordinals = async (of: SessionKey) => stores.sessionIndex.runs(of, 0, 99)
    const [here, there] = [await ordinals(key), await ordinals(other)]
    t.same(
      here.map(({ ordinal }) => ordinal),
      [1, 2, 3, 4, 5, 6, 7, 8]
    )
    t.same(
      there.map(({ ordinal }) => ordinal),
      [1, 2, 3, 4]
    )
    t.same([...here, ...there].map(({ runId }) => runId).toSorted(), entered.toSorted())
    t.equal((await stores.sessionIndex.find(key))?.lastOrdinal, 8)
  })

  test('lists own turns only: those of members and steps have a path', async (t, {
    sessionIndex,
    sessions
  }) => {
    await sessions.append({ ...key, name: 'member' }, 'r/member', turn('a'))
    t.same((await sessionIndex.list(own)).sessions, [])
    t.equal(await sessionIndex.find({ ...key, name: 'member' }), undefined)
    t.equal(await sessionIndex.update({ ...key, name: 'member' }, { title: 'x' }), undefined)
    await sessions.append({ ...key, name: 'member' }, 'r', turn('b'))
    t.same(idsOf((await sessionIndex.list(own)).sessions), ['s'])
    await sessions.append({ ...key, name: 'member' }, 'q/member', turn('c'))
    const found = await sessionIndex.find({ ...key, name: 'member' })
    t.same([found?.title, found?.turns, found?.lastOrdinal, found?.activeRun], ['a', 3, 0, null])
  })

  test('lists the last changed first, in pages, by owner, runnable and id', async (t, stores) => {
    const { sessionIndex, sessions } = stores
    const names = ['a', 'b', 'c', 'd', 'e']
    for (const sessionId of names) await enter(stores, { ...key, sessionId })
    await enter(stores, { ...key, owner: 'bob', sessionId: 'a' })
    await enter(stores, { ...key, registry: 'b', sessionId: 'foreign' })
    await enter(stores, { ...key, kind: 'workflow', name: 'flow', sessionId: 'w' })
    const all = async (query: Partial<SessionQuery> = {}) => sessionIndex.list({ ...own, ...query })
    t.same(idsOf((await all({ kind: 'workflow' })).sessions), ['w'])
    t.same(idsOf((await all({ name: 'flow' })).sessions), ['w'])
    t.same(idsOf((await all({ sessionId: 'c' })).sessions), ['c'])
    t.same(idsOf((await all({ owner: 'bob' })).sessions), ['a'])
    const namesake = { ...key, kind: 'workflow' as const, name: 'other', sessionId: 'c' }
    await enter(stores, namesake)
    const namesOf = async (query: Partial<SessionQuery>) =>
      (await all({ sessionId: 'c', ...query })).sessions.map(({ name }) => name)
    const both = await namesOf({})
    t.same(both.toSorted(), ['echo', 'other'])
    t.same(await namesOf({ order: 'asc' }), both.toReversed())
    for (const order of ['asc', 'desc'] as const) {
      const { nextCursor, sessions: one } = await all({ sessionId: 'c', limit: 1, order })
      const rest = await namesOf({ order, cursor: nextCursor! })
      t.same([...one.map(({ name }) => name), ...rest], order === 'desc' ? both : both.toReversed())
    }
    t.same(await namesOf({ name: 'echo' }), ['echo'])
    await sessions.remove(namesake)
    t.same(await namesOf({}), ['echo'])
    t.same(idsOf((await all({ owner: 'eve' })).sessions), [])
    t.same(idsOf((await all({ scope: { runnables: [{ ...key, registry: 'b' }] } })).sessions), ['foreign'])
    const { sessions: unpaged, nextCursor: none } = await all()
    t.equal(none, null)
    const order = idsOf(unpaged)
    t.same(order.toSorted(), [...names, 'w'])
    const paged: string[] = []
    for (let cursor: string | undefined; ;) {
      const page = await all({ limit: 2, ...(cursor !== undefined && { cursor }) })
      paged.push(...idsOf(page.sessions))
      if (page.nextCursor === null) break
      cursor = page.nextCursor
    }
    t.same(paged, order, 'pages have each session once')
    const back: string[] = []
    for (let cursor: string | undefined; ;) {
      const page = await all({ limit: 2, order: 'asc', ...(cursor !== undefined && { cursor }) })
      back.push(...idsOf(page.sessions))
      if (page.nextCursor === null) break
      cursor = page.nextCursor
    }
    t.same(back, order.toReversed(), 'so have they in the other order')
    const many = Array.from({ length: 33 }, (_, at) => ({ ...key, name: `none${at}` }))
    const scopes: SessionQuery['scope'][] = [
      { runnables: [key, { ...key, kind: 'workflow', name: 'flow' }] },
      { runnables: [...many, key] }
    ]
    for (const some of scopes) {
      const [down, up] = [await all({ scope: some }), await all({ scope: some, order: 'asc' })]
      t.same(idsOf(up.sessions), idsOf(down.sessions).toReversed(), 'of some runnables too')
      t.ok(up.sessions.length >= names.length)
    }
    const [second] = unpaged.slice(1)
    const cursorAfter = (await sessionIndex.cursorAfter(second!))!
    t.same(idsOf((await all({ cursor: cursorAfter })).sessions), order.slice(2), 'a page after a session')
    t.equal(await sessionIndex.cursorAfter({ ...key, sessionId: 'none' }), undefined)

    const { nextCursor, sessions: first } = await all({ limit: 2 })
    await later(unpaged[0]!.updatedAt)
    const oldest = order.at(-1)!
    await sessions.append({ ...key, sessionId: oldest }, 'turn', turn('x'))
    t.equal(idsOf((await all()).sessions)[0], oldest, 'a turn is a change')
    const rest = idsOf((await all({ cursor: nextCursor! })).sessions)
    t.same(rest, order.slice(2, -1), 'a session that changed meanwhile is on no later page')
    const upwards = idsOf((await all({ order: 'asc' })).sessions)
    t.equal(upwards.at(-1), oldest)
    const { nextCursor: upNext } = await all({ order: 'asc', limit: 2 })
    const [last] = idsOf(first).slice(-1)
    await later((await all({ limit: 1 })).sessions[0]!.updatedAt)
    await sessionIndex.update({ ...key, ...first[1]! }, { title: 'x' })
    t.equal(idsOf((await all()).sessions)[0], last, 'an update is a change')
    t.same(idsOf((await all({ cursor: nextCursor! })).sessions), rest, 'so is that of the last one of a page')
    const upRest = idsOf((await all({ order: 'asc', cursor: upNext! })).sessions)
    const stayed = upwards.slice(2).filter((sessionId) => sessionId !== last)
    t.same(upRest, [...stayed, last], 'in the other order it comes again, or last')
    await sessions.remove({ ...key, sessionId: 'c' })
    t.equal(idsOf((await all()).sessions).includes('c'), false)
  })

  test('a page continues where the last session of the one before was, whatever became of it', async (t, stores) => {
    const { sessionIndex, sessions } = stores
    const all = ['a', 'b', 'c', 'd', 'e', 'f', 'g']
    for (const sessionId of all) {
      const before = await sessionIndex.list({ ...own, limit: 1 })
      await later(before.sessions[0]?.updatedAt ?? 0)
      await enter(stores, { ...key, sessionId })
    }
    for (const order of ['asc', 'desc'] as const) {
      const list = async (cursor?: string) =>
        sessionIndex.list({ ...own, limit: 2, order, ...(cursor !== undefined && { cursor }) })
      const everything = async () => idsOf((await sessionIndex.list({ ...own, order })).sessions)
      const first = await list()
      const last = first.sessions.at(-1)!
      const rest = (await everything()).slice(2)
      t.same(idsOf((await list(first.nextCursor!)).sessions), rest.slice(0, 2))

      await later((await sessionIndex.list({ ...own, limit: 1 })).sessions[0]!.updatedAt)
      await sessionIndex.update(last, { title: 'changed' })
      t.same(idsOf((await list(first.nextCursor!)).sessions), rest.slice(0, 2), `${order}, changed`)

      const [, removed] = (await list()).sessions
      const { nextCursor } = await list()
      const left = (await everything()).slice(2)
      await sessions.remove(removed!)
      t.same(idsOf((await list(nextCursor!)).sessions), left.slice(0, 2), `${order}, removed`)
    }
  })

  test('refuses cursors of other lists', async (t, stores) => {
    for (let index = 0; index < 3; index++) await enter(stores, { ...key, sessionId: `${index}` })
    await stores.sessions.append(key, 'turn', turn('x'))
    const { nextCursor: ofRuns } = await stores.runs.list({ limit: 1 })
    const { nextCursor: ofMessages } = await stores.sessionIndex.messages(key, { limit: 1 })
    const { nextCursor: ofSessions } = await stores.sessionIndex.list({ ...own, limit: 1 })
    for (const cursor of [ofRuns!, ofMessages!, 'x', ''])
      t.equal(await codeOf(() => stores.sessionIndex.list({ ...own, cursor })), 'REG_ERR_BAD_CURSOR')
    for (const before of [ofRuns!, ofSessions!, 'm', '1'])
      t.equal(
        await codeOf(() => stores.sessionIndex.messages(key, { limit: 1, before })),
        'REG_ERR_BAD_CURSOR'
      )
    t.equal(await codeOf(() => stores.runs.list({ limit: 1, cursor: ofSessions! })), 'REG_ERR_BAD_CURSOR')
  })

  test('changes title and metadata', async (t, stores) => {
    const { sessionIndex, sessions } = stores
    t.equal(await sessionIndex.update(key, { title: 'x' }), undefined)
    await enter(stores, key)
    const changed = await sessionIndex.update(key, { title: HOSTILE_TEXT, metadata: { topic: HOSTILE_TEXT } })
    t.same([changed?.title, changed?.metadata], [HOSTILE_TEXT, { topic: HOSTILE_TEXT }])
    await sessions.append(key, 'turn', turn('first'))
    t.equal((await sessionIndex.find(key))?.title, HOSTILE_TEXT, 'a title that was given stays')
    t.same((await sessionIndex.update(key, { title: 'y' }))?.metadata, { topic: HOSTILE_TEXT })
    const removed = await sessionIndex.update(key, { title: null, metadata: null })
    t.same([removed?.title, removed?.metadata], [null, null])
  })

  test('pages through messages from the newest on', async (t, { sessionIndex, sessions }) => {
    t.same(await sessionIndex.messages(key, { limit: 9 }), { messages: [], branches: [], nextCursor: null })
    for (const id of ['a', 'b', 'c']) await sessions.append(key, id, turn(id))
    const newest = await sessionIndex.messages(key, { limit: 4 })
    t.same(
      newest.messages.map(({ seq, turnId, message }) => [seq, turnId, message]),
      [...turn('b'), ...turn('c')].map((message, index) => [index + 3, index < 2 ? 'b' : 'c', message])
    )
    const older = await sessionIndex.messages(key, { limit: 4, before: newest.nextCursor! })
    t.same(
      older.messages.map(({ seq, turnId }) => [seq, turnId]),
      [
        [1, 'a'],
        [2, 'a']
      ]
    )
    t.equal(older.nextCursor, null)
    const exact = await sessionIndex.messages(key, { limit: 6 })
    t.same([exact.messages.length, exact.nextCursor], [6, null])

    const bytes = JSON.stringify(turn('c')).length + 20
    const fitting = await sessionIndex.messages(key, { limit: 6, bytes })
    t.same(
      fitting.messages.map(({ seq }) => seq),
      [5, 6],
      'those that fit'
    )
    const before = fitting.nextCursor!
    const single = await sessionIndex.messages(key, { limit: 6, bytes: 1, before })
    t.same([single.messages.map(({ seq }) => seq), single.nextCursor !== null], [[4], true], 'one at least')
    t.same((await sessionIndex.messages(key, { limit: 6, bytes: 1_000_000 })).nextCursor, null)
    t.same(await sessionIndex.messages(key, { limit: 4, contents: false }), {
      ...newest,
      messages: newest.messages.map(({ seq, turnId }) => ({ seq, turnId, message: null }))
    })
  })

  test('notifies followers of runs that enter, and of the removal', async (t, stores) => {
    const { sessionIndex } = stores
    const other = { ...key, owner: HOSTILE_TEXT }
    const { promise, resolve } = Promise.withResolvers<void>()
    const wrong: string[] = []
    const leave = sessionIndex.follow(key, () => wrong.push('left'))
    leave()
    const unfollow = sessionIndex.follow(other, resolve)
    await enter(stores, other)
    await promise
    unfollow()
    t.same(wrong, [])
    const removed = Promise.withResolvers<void>()
    const stop = sessionIndex.follow(other, removed.resolve)
    await stores.sessions.remove(other)
    await removed.promise
    stop()
    t.same([await sessionIndex.find(other), await sessionIndex.runs(other, 0, 9)], [undefined, []])
    await enter(stores, other)
    t.equal((await sessionIndex.runs(other, 0, 9))[0]?.ordinal, 1, 'a removed session begins again')
  })
}

// A change in the same millisecond would not be later.
async function later(at: number): Promise<void> {
  while (Date.now() <= at) await new Promise((resolve) => setImmediate(resolve))
}
