import type { SessionIndex, SessionKey } from '@svc/contract'
import { codeOf, withStore, type ContractTest, type MakeStore } from './contract-test.ts'
import type { IndexStores } from './session-index-contract.ts'
import { branchOf, history, key, save } from './session-tree-contract.ts'

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
