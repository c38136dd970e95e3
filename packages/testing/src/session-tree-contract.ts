import type { Continuation, MessageQuery, SessionIndex, SessionKey, SessionMessage } from '@svc/contract'
import { codeOf, withStore, type ContractTest, type MakeStore } from './contract-test.ts'
import type { IndexStores } from './session-index-contract.ts'

const key: SessionKey = {
  registry: 'global',
  owner: 'ada',
  kind: 'agent',
  name: 'echo',
  sessionId: 's'
}
const turn = (text: string): SessionMessage[] => [
  { role: 'user', content: text },
  { role: 'assistant', text: `re: ${text}` }
]
const textsOf = (messages: readonly (SessionMessage | null)[]) =>
  messages.flatMap((message) => (message?.role === 'user' ? [message.content] : []))

/** Saves the turn of a run; `after` as in `Continuation`, undefined for the newest turn. */
async function save(
  { sessions }: Pick<IndexStores, 'sessions'>,
  runId: string,
  after?: string | null,
  more: Partial<Continuation> & { turnId?: string; of?: SessionKey } = {}
): Promise<void> {
  const { turnId = runId, of = key, along } = more
  const from = after === undefined && along === undefined ? undefined : { runId, after, along }
  await sessions.append(of, turnId, turn(turnId), undefined, from)
}

/** The user messages before the next turn of a run. */
async function history(
  { sessions }: Pick<IndexStores, 'sessions'>,
  after?: string | null,
  { runId = 'next', of = key, along }: Partial<Continuation> & { of?: SessionKey } = {},
  limit = 1_000
): Promise<unknown[]> {
  const from = after === undefined && along === undefined ? undefined : { runId, after, along }
  return textsOf(await sessions.load(of, limit, from))
}

/** The user messages of a branch, read page by page. */
async function branchOf(
  sessionIndex: SessionIndex,
  of: SessionKey,
  query: MessageQuery
): Promise<{ texts: unknown[]; branches: unknown[] }> {
  const [texts, branches]: [unknown[], unknown[]] = [[], []]
  for (let before: string | undefined; ;) {
    const page = await sessionIndex.messages(of, { ...query, ...(before !== undefined && { before }) })
    texts.unshift(...textsOf(page.messages.map(({ message }) => message)))
    branches.unshift(...page.branches)
    if (page.nextCursor === null) return { texts, branches }
    before = page.nextCursor
  }
}

/** The contract of every `SessionStore` and `SessionIndex`: the turns of a session are a tree. */
export function sessionTreeContract(t: ContractTest, make: MakeStore<IndexStores>): void {
  const test = (name: string, run: (t: ContractTest, stores: IndexStores) => Promise<void>) =>
    withStore(t, make, name, run)

  test('continues after any earlier turn, and overwrites none', async (t, stores) => {
    for (const runId of ['a', 'b', 'c']) await save(stores, runId)
    t.same(await history(stores, 'a'), ['a'])
    t.same(await history(stores, null), [])
    await save(stores, 'b2', 'a')
    t.same(await history(stores), ['a', 'b2'], 'the newest branch is that of the newest turn')
    t.same(await history(stores, 'c'), ['a', 'b', 'c'])
    await save(stores, 'c2')
    await save(stores, 'd', 'c')
    await save(stores, 'e')
    t.same(await history(stores), ['a', 'b', 'c', 'd', 'e'])
    t.same(await history(stores, 'c2'), ['a', 'b2', 'c2'])
    await save(stores, 'x', null)
    t.same(await history(stores), ['x'])
    await save(stores, 'y', 'x')
    t.same(await history(stores, 'y'), ['x', 'y'])
    t.same(await history(stores, 'y', {}, 3), ['y'], 'as many messages as asked for')
    t.same(await history(stores, 'e', {}, 4), ['d', 'e'])
    t.same(await history(stores, 'e', {}, 0), [])
    t.equal((await stores.sessionIndex.find(key))?.turns, 9)
  })

  test('finds turns, and refuses those that a session does not have', async (t, { sessions }) => {
    await save({ sessions }, 'a')
    await save({ sessions }, 'b', undefined, { turnId: 'b/member' })
    await save({ sessions }, 'other', undefined, { of: { ...key, sessionId: 'other' } })
    const has = async (runId: string) => sessions.hasTurn!(key, runId)
    for (const runId of ['a', 'b']) t.equal(await has(runId), true, runId)
    for (const runId of ['other', 'b/member ', 'b/', 'c', '', 'A', '%'])
      t.equal(await has(runId), false, runId)
    t.equal(await sessions.hasTurn!({ ...key, owner: 'bob' }, 'a'), false)
    for (const after of ['other', 'c']) {
      const from = { runId: 'next', after }
      t.equal(await codeOf(async () => sessions.load(key, 9, from)), 'RUN_ERR_NO_TURN')
      const append = async () => sessions.append(key, 'next', turn('next'), undefined, from)
      t.equal(await codeOf(append), 'RUN_ERR_NO_TURN')
    }
    t.same(await history({ sessions }), ['a', 'b/member'], 'a refused turn leaves nothing')
  })

  test('appends further turns of a run to its own last one', async (t, stores) => {
    for (const runId of ['a', 'b']) await save(stores, runId)
    await save(stores, 'r', 'a', { turnId: 'r/1' })
    t.same(await history(stores, 'a', { runId: 'r' }), ['a', 'r/1'])
    await save(stores, 'r', 'a', { turnId: 'r/2' })
    t.same(await history(stores), ['a', 'r/1', 'r/2'])
    await save(stores, 'r', 'a', { turnId: 'r/2' })
    t.same(await history(stores, 'r'), ['a', 'r/1', 'r/2'], 'a turn is saved once')
  })

  test('leaves a turn that begins again out of its own history', async (t, stores) => {
    const before = async (turnId: string, of = key, from?: Continuation, limit = 1_000) =>
      textsOf(await stores.sessions.load(of, limit, from, turnId))
    t.same(await before('a'), [])
    await save(stores, 'a')
    t.same(await before('a'), [], 'the only turn')
    t.same(await before('b'), ['a'], 'a turn that was not saved')
    for (const runId of ['b', 'c']) await save(stores, runId)
    t.same(await before('c'), ['a', 'b'])
    t.same(await before('c', key, undefined, 2), ['b'], 'as many messages as asked for')
    t.same(await before('b'), ['a'])
    await save(stores, 'x', 'a')
    t.same(await before('x'), ['a'])
    t.same(await before('x', key, { runId: 'x', after: 'a' }), ['a'], 'on a branch')
    t.same(await before('c', key, { runId: 'c', after: 'b' }), ['a', 'b'])
    await save(stores, 'y', null)
    t.same(await before('y', key, { runId: 'y', after: null }), [])
    await save(stores, 'r', 'c', { turnId: 'r/1' })
    await save(stores, 'r', 'c', { turnId: 'r/2' })
    t.same(await before('r/2', key, { runId: 'r', after: 'c' }), ['a', 'b', 'c', 'r/1'])
    await stores.sessionIndex.fork(key, 'f', 'b')
    const fork = { ...key, sessionId: 'f' }
    await save(stores, 'd', undefined, { of: fork })
    t.same(await before('d', fork), ['a', 'b'])
    const shared = await stores.sessionIndex.sharedBefore(fork)
    const { messages } = await stores.sessionIndex.messages(fork, { limit: 9, before: shared! })
    t.same(
      [...new Set(messages.map(({ turnId }) => turnId))],
      ['a', 'b'],
      'what it shares with the other one'
    )
    t.equal(await stores.sessionIndex.sharedBefore(key), undefined)
  })

  test('pages through any branch, and shows where it divides', async (t, stores) => {
    for (const runId of ['a', 'b', 'c']) await save(stores, runId)
    await save(stores, 'b2', 'a')
    await save(stores, 'c2')
    await save(stores, 'b3', 'a')
    await save(stores, 'd2', 'c2')
    await save(stores, 'e', 'b')
    await save(stores, 'a2', null)
    const ofA = { after: 'a', turns: ['b', 'b2', 'b3'] }
    const ofB = { after: 'b', turns: ['c', 'e'] }
    const first = { after: null, turns: ['a', 'a2'] }
    const expected: [string | undefined, string[], unknown[]][] = [
      [undefined, ['a2'], [first]],
      ['a2', ['a2'], [first]],
      ['a', ['a', 'b', 'e'], [first, ofA, ofB]],
      ['b', ['a', 'b', 'e'], [first, ofA, ofB]],
      ['c', ['a', 'b', 'c'], [first, ofA, ofB]],
      ['b2', ['a', 'b2', 'c2', 'd2'], [first, ofA]],
      ['b3', ['a', 'b3'], [first, ofA]]
    ]
    for (const limit of [1, 2, 3, 5, 100])
      for (const [branch, texts, branches] of expected) {
        const query = { limit, ...(branch !== undefined && { branch }) }
        t.same(await branchOf(stores.sessionIndex, key, query), { texts, branches }, `${branch}, ${limit}`)
      }
    t.equal(
      await codeOf(async () => stores.sessionIndex.messages(key, { limit: 1, branch: 'z' })),
      'RUN_ERR_NO_TURN'
    )
  })

  test('keeps the order of places on branches of many short pieces', async (t, stores) => {
    await save(stores, 'l0')
    await save(stores, 'r0', null)
    for (let at = 1; at < 40; at++) {
      await save(stores, `l${at}`, `l${at - 1}`)
      await save(stores, `r${at}`, `r${at - 1}`)
    }
    for (const side of ['l', 'r']) {
      const texts = Array.from({ length: 40 }, (_, at) => `${side}${at}`)
      t.same(await history(stores, `${side}39`), texts)
      t.same((await branchOf(stores.sessionIndex, key, { limit: 7, branch: `${side}5` })).texts, texts)
    }
  })

  test('continues the session of a member on the branch of its team', async (t, stores) => {
    const team: SessionKey = { ...key, kind: 'team', name: 'crew' }
    const run = async (runId: string, after?: string | null, asks = true) => {
      const member = await history(stores, after, { runId, along: team })
      if (asks) await save(stores, runId, after, { turnId: `${runId}/member`, along: team })
      await save(stores, runId, after, { of: team })
      return member.map((text) => String(text).slice(0, 1))
    }
    t.same(await run('a'), [])
    t.same(await run('b'), ['a'])
    t.same(await run('c', 'a'), ['a'])
    t.same(await run('d', undefined, false), ['a', 'c'])
    t.same(await run('e'), ['a', 'c'], 'a run without the member is skipped')
    t.same(await run('f', 'b'), ['a', 'b'])
    t.same(await run('g', null), [])
    t.same(await run('h', 'd'), ['a', 'c'])
    t.same(
      await history(stores, 'e', { runId: 'next', along: team }),
      ['a', 'c', 'e'].map((id) => `${id}/member`)
    )
    t.same(
      await history(stores, null, { runId: 'h', along: team }),
      ['a', 'c', 'h'].map((id) => `${id}/member`)
    )
  })

  test('reads branches from which turns of members were removed', async (t, stores) => {
    for (let at = 0; at < 8; at++) await save(stores, `r${at}`, undefined, { turnId: `r${at}/member` })
    await save(stores, 'b', 'r5')
    await stores.sessions.removeTurns(key, ['r2', 'r3', 'r5', 'r7'])
    t.same(await history(stores), ['r0/member', 'r1/member', 'r4/member', 'b'])
    t.same(await history(stores, 'b', {}, 6), ['r1/member', 'r4/member', 'b'])
    for (const limit of [1, 2, 5])
      t.same((await branchOf(stores.sessionIndex, key, { limit })).texts, await history(stores))
    t.same(await history(stores, 'r6'), ['r0/member', 'r1/member', 'r4/member', 'r6/member'])
    t.equal(await stores.sessions.hasTurn!(key, 'r5'), false)
  })

  test('forgets branches with their session', async (t, stores) => {
    for (const runId of ['a', 'b']) await save(stores, runId)
    await save(stores, 'c', 'a')
    await stores.sessions.remove(key)
    t.same(await history(stores), [])
    for (const runId of ['x', 'y', 'z']) await save(stores, runId)
    t.same(await branchOf(stores.sessionIndex, key, { limit: 2 }), { texts: ['x', 'y', 'z'], branches: [] })
    t.equal(await stores.sessions.hasTurn!(key, 'a'), false)
  })
}

const scope = {
  runnables: [],
  registry: { id: 'global', kinds: ['agent', 'team', 'workflow'], except: [] }
} as const
const of = (sessionId: string): SessionKey => ({ ...key, sessionId })
const member = (sessionId: string): SessionKey => ({ ...key, name: 'member', sessionId })
const fork = async (
  { sessionIndex }: { sessionIndex: SessionIndex },
  from: string,
  to: string,
  at?: string
) => sessionIndex.fork(of(from), to, at)

/** The contract of every `SessionStore` and `SessionIndex`: forks share the messages of a session. */
export function sessionForkContract(t: ContractTest, make: MakeStore<IndexStores>): void {
  const test = (name: string, run: (t: ContractTest, stores: IndexStores) => Promise<void>) =>
    withStore(t, make, name, run)

  test('begins a session with the history of another one, and both go their ways', async (t, stores) => {
    const { sessionIndex } = stores
    for (const runId of ['a', 'b', 'c']) await save(stores, runId)
    await sessionIndex.update(key, { metadata: { topic: 'x' } })
    const made = await fork(stores, 's', 'f', 'b')
    const fields = { title: 'a', metadata: { topic: 'x' }, turns: 2, lastOrdinal: 0, activeRun: null }
    t.same({ ...made, createdAt: 0, updatedAt: 0 }, { ...of('f'), ...fields, createdAt: 0, updatedAt: 0 })
    t.same(await sessionIndex.find(of('f')), made)
    const listed = await sessionIndex.list({ owner: 'ada', scope, limit: 9 })
    t.same(
      listed.sessions.map(({ sessionId }) => sessionId),
      ['f', 's']
    )
    t.same(await history(stores, undefined, { of: of('f') }), ['a', 'b'])
    await save(stores, 'd', undefined, { of: of('f') })
    await save(stores, 'e')
    await save(stores, 'g', undefined, { of: of('f') })
    t.same(await history(stores, undefined, { of: of('f') }), ['a', 'b', 'd', 'g'])
    t.same(await history(stores), ['a', 'b', 'c', 'e'])
    t.same(await history(stores, undefined, { of: of('f') }, 5), ['d', 'g'])
    for (const runId of ['a', 'b', 'd', 'g'])
      t.equal(await stores.sessions.hasTurn!(of('f'), runId), true, runId)
    for (const runId of ['c', 'e']) t.equal(await stores.sessions.hasTurn!(of('f'), runId), false, runId)
    for (const limit of [1, 2, 3, 5, 9])
      t.same(
        await branchOf(sessionIndex, of('f'), { limit }),
        { texts: ['a', 'b', 'd', 'g'], branches: [] },
        `pages of ${limit}`
      )
    t.equal((await sessionIndex.find(of('f')))?.turns, 4)
    t.same(await sessionIndex.runs(of('f'), 0, 9), [])
  })

  test('forks from any branch, and branches from what it shares', async (t, stores) => {
    for (const runId of ['a', 'b', 'c']) await save(stores, runId)
    await save(stores, 'b2', 'a')
    await save(stores, 'c2')
    await fork(stores, 's', 'f')
    t.same(await history(stores, undefined, { of: of('f') }), ['a', 'b2', 'c2'])
    await save(stores, 'x', 'a', { of: of('f') })
    await save(stores, 'y', undefined, { of: of('f') })
    await save(stores, 'd2', 'c2', { of: of('f') })
    await save(stores, 'e2', 'c2', { of: of('f') })
    await save(stores, 'z', null, { of: of('f') })
    const [first, ofA, ofC] = [
      { after: null, turns: ['a', 'z'] },
      { after: 'a', turns: ['b2', 'x'] },
      { after: 'c2', turns: ['d2', 'e2'] }
    ]
    for (const limit of [1, 2, 3, 100])
      for (const [branch, texts, branches] of [
        ['z', ['z'], [first]],
        ['x', ['a', 'x', 'y'], [first, ofA]],
        ['b2', ['a', 'b2', 'c2', 'e2'], [first, ofA, ofC]],
        ['d2', ['a', 'b2', 'c2', 'd2'], [first, ofA, ofC]]
      ] as const)
        t.same(
          await branchOf(stores.sessionIndex, of('f'), { limit, branch }),
          { texts, branches },
          `${branch}, ${limit}`
        )
    t.equal(await codeOf(async () => fork(stores, 'f', 'g', 'c')), 'RUN_ERR_NO_TURN')
    t.equal((await fork(stores, 's', 'g', 'c'))?.turns, 3)
    t.same(await history(stores, undefined, { of: of('g') }), ['a', 'b', 'c'])
    t.equal((await fork(stores, 'f', 'h', 'y'))?.turns, 3)
    t.same(await history(stores, undefined, { of: of('h') }), ['a', 'x', 'y'])
  })

  test('refuses what cannot be forked', async (t, stores) => {
    t.equal(await fork(stores, 's', 'f'), undefined)
    await save(stores, 'a')
    await save(stores, 'm', undefined, { of: { ...key, name: 'member' }, turnId: 'm/member' })
    const { sessionIndex } = stores
    t.equal(await sessionIndex.fork({ ...key, owner: 'bob' }, 'f'), undefined)
    t.equal(await sessionIndex.fork({ ...key, name: 'member' }, 'f'), undefined, 'it is not listed')
    t.equal(await codeOf(async () => fork(stores, 's', 'f', 'b')), 'RUN_ERR_NO_TURN')
    t.equal(await sessionIndex.find(of('f')), undefined)
    await fork(stores, 's', 'f')
    for (const taken of ['s', 'f'])
      t.equal(await codeOf(async () => fork(stores, 's', taken)), 'RUN_ERR_SESSION_EXISTS')
  })

  test('keeps messages while a fork reaches them', async (t, stores) => {
    const { sessionIndex, sessions } = stores
    for (const runId of ['a', 'b', 'c', 'd']) await save(stores, runId)
    await save(stores, 'c2', 'b')
    await fork(stores, 's', 'f', 'c2')
    await fork(stores, 's', 'g', 'a')
    await save(stores, 'x', undefined, { of: of('f') })
    await fork(stores, 'f', 'h')
    const names = async (session: string) =>
      (await sessionIndex.forks(of(session))).map(({ sessionId }) => sessionId).toSorted()
    t.same([await names('s'), await names('f'), await names('g')], [['f', 'g', 'h'], ['h'], []])
    t.equal(await sessions.remove(key), 6, 'a, b and c2 stay')
    t.equal(await sessionIndex.find(key), undefined)
    t.same(await history(stores), [])
    await save(stores, 'new')
    t.same(await history(stores), ['new'], 'a session of the same id begins again')
    t.same(await names('s'), [])
    const check = async (session: string, texts: string[]) => {
      t.same(await history(stores, undefined, { of: of(session) }), texts)
      t.same((await branchOf(sessionIndex, of(session), { limit: 3 })).texts, texts)
    }
    await check('f', ['a', 'b', 'c2', 'x'])
    await check('g', ['a'])
    t.equal(await sessions.hasTurn!(of('f'), 'd'), false)
    t.equal(await sessions.remove(of('f')), 2, 'x stays')
    await check('h', ['a', 'b', 'c2', 'x'])
    await save(stores, 'y', 'b', { of: of('h') })
    await check('h', ['a', 'b', 'y'])
    t.equal(await sessions.remove(of('h')), 0)
    await check('g', ['a'])
    t.equal(await sessions.remove(of('g')), 0)
    t.equal(await sessions.remove(of('g')), 0)
  })

  test('leaves a session as it is when its forks go', async (t, stores) => {
    for (const runId of ['a', 'b']) await save(stores, runId)
    await fork(stores, 's', 'f')
    await fork(stores, 'f', 'g')
    t.equal(await stores.sessions.remove(of('f')), 0)
    t.same(
      (await stores.sessionIndex.forks(key)).map(({ sessionId }) => sessionId),
      ['g']
    )
    t.same(await history(stores, undefined, { of: of('g') }), ['a', 'b'])
    t.equal(await stores.sessions.remove(of('g')), 0)
    t.same(await history(stores), ['a', 'b'])
  })

  test('forks the sessions of the members of a team', async (t, stores) => {
    const team: SessionKey = { ...key, kind: 'team', name: 'crew' }
    const run = async (runId: string, sessionId: string, after?: string) => {
      const along = { ...team, sessionId }
      await save(stores, runId, after, { turnId: `${runId}/member`, of: member(sessionId), along })
      await save(stores, runId, after, { of: along })
    }
    const received = (sessionId: string) =>
      history(stores, undefined, { of: member(sessionId), along: { ...team, sessionId } })
    await run('a', 's')
    await run('b', 's')
    await run('c', 's', 'a')
    for (const [sessionId, at] of [
      ['f', 'b'],
      ['g', undefined]
    ] as const)
      await stores.sessionIndex.fork(team, sessionId, at)
    t.same(await received('f'), ['a/member', 'b/member'])
    t.same(await received('g'), ['a/member', 'c/member'])
    t.equal(await stores.sessionIndex.find(member('f')), undefined, 'members are in no list')
    await run('d', 'f')
    t.same(await received('f'), ['a/member', 'b/member', 'd/member'])
    t.same(await received('s'), ['a/member', 'c/member'])
    await stores.sessions.removeTurns(member('s'), ['a', 'b', 'c'])
    t.same(await received('f'), ['a/member', 'b/member', 'd/member'], 'what a fork reaches stays for it')
    t.same(await history(stores, undefined, { of: member('s') }), [])
    await stores.sessions.removeTurns(member('g'), [])
    t.same(await history(stores, undefined, { of: member('g') }), [])
    await stores.sessions.removeTurns(member('f'), ['d'])
    t.same(await stores.sessions.keys({ owner: 'ada', sessionId: 'f', limit: 9 }), [
      { ...team, sessionId: 'f' }
    ])
  })
}
