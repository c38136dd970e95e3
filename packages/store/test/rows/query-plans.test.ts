import { RUNNABLE_KINDS } from '@svc/registry'
import { SessionFollowers } from '@svc/contract/stores'
import { Kysely } from 'kysely'
import t from 'tap'
import { CodeCache } from '../../src/sqlite/code-cache.ts'
import { GroupCommit } from '../../src/sqlite/group-commit.ts'
import { findNext } from '../../src/sqlite/local-queue.ts'
import { migrate } from '../../src/sqlite/migrations/migrate.ts'
import { listInputs, readWaiting } from '../../src/rows/input-lists.ts'
import { readPositions } from '../../src/rows/queue-rows.ts'
import { findSessionKeys } from '../../src/rows/session-rows.ts'
import { listChangedRuns, listOwnedRuns, listRuns } from '../../src/rows/run-lists.ts'
import { createNodeSqliteDialect, openDatabase } from '../../src/sqlite/open-database.ts'
import { ALL_IN_RUN } from '../../src/sqlite/open-sqlite.ts'
import type { Tables } from '../../src/tables.ts'
import { createSessionEntry } from '../../src/runs/run-write.ts'
import { createMemoryStore } from '../../src/stores/memory-store.ts'
import { createSessionIndex } from '../../src/create-store.ts'
import { createTaskStore } from '../../src/stores/task-store.ts'

interface Sent {
  sql: string
  parameters: readonly unknown[]
}

const opened = openDatabase({ path: ':memory:', durability: 'normal' })
const sent: Sent[] = []
const db = new Kysely<Tables>({
  dialect: createNodeSqliteDialect(opened),
  log: ({ query }) => void sent.push(query)
})
await migrate(db as unknown as Kysely<never>)
t.teardown(() => db.destroy())

/** How the queries of a call find their runs. */
async function plansOf(call: () => Promise<unknown>): Promise<string[]> {
  sent.length = 0
  await call()
  return sent.flatMap(({ sql, parameters }) =>
    opened.database
      .prepare(`explain query plan ${sql}`)
      .all(...(parameters as string[]))
      .map(({ detail }) => String(detail))
  )
}

// A page is read from the list of its ids.
const SCAN = /^SCAN (?!page|found)/
const claimant = { id: () => 'n', isShared: false }
const cursor = '1000.a'
const runnables = [
  { registry: 'global', kind: 'agent', name: 'a' },
  { registry: 'global', kind: 'agent', name: 'b' },
  { registry: 'other', kind: 'team', name: 'c' }
] as const
const whole = { id: 'global', kinds: RUNNABLE_KINDS, except: [{ kind: 'agent', name: 'x' }] } as const
const scopes = [
  { runnables },
  { runnables: [], registry: whole },
  { runnables, registry: { ...whole, kinds: ['agent'] } }
] as const
const base = { owner: 'ada', limit: 50 }

t.test('a page by the last change and its count read only an index', async (t) => {
  const filters = [
    [{}, '(owner=?'],
    [{ since: 5 }, '(owner=? AND updated_at>?'],
    [{ status: 'working' as const }, '(owner=?'],
    [{ status: 'completed' as const, since: 5 }, '(owner=? AND updated_at>?'],
    [{ sessionId: 's' }, '(owner=?'],
    [{ sessionId: 's', status: 'working' as const, since: 5 }, '(owner=? AND updated_at>?']
  ] as const
  const index = 'run_changed'
  for (const [filter, by] of filters) {
    for (const place of scopes.flatMap((scope) => [{ scope }, { scope, cursor }])) {
      const plans = await plansOf(() => listChangedRuns(db, ALL_IN_RUN, { ...base, ...filter, ...place }))
      const label = JSON.stringify({ ...filter, ...place })
      const from = plans.filter((plan) => plan.includes('COVERING INDEX'))
      t.equal(from.length, 2, label)
      t.ok(from[0]!.startsWith(`SEARCH run USING COVERING INDEX ${index} ${by}`), `${label}: ${from[0]}`)
      t.equal(from[0]!.includes('(updated_at,run_id)<'), 'cursor' in place, `${label}: ${from[0]}`)
      // Any index has the owner's runs when nothing else is asked for.
      t.ok(from[1]!.includes('owner=?'), `${label}: ${from[1]}`)
      t.ok(by === '(owner=?' || from[1]!.includes(`${index} ${by}`), `${label}: ${from[1]}`)
      t.notOk(
        plans.some((plan) => SCAN.test(plan)),
        label
      )
    }
  }
})

t.test('a page of runs reads only an index, from where the previous page ended', async (t) => {
  const after = ' AND (created_at,run_id)<(?,?)'
  const changedAfter = ' AND (updated_at,run_id)<(?,?)'
  const queries = [
    [{ owner: 'ada' }, 'SEARCH run USING COVERING INDEX run_newest (owner=?', after],
    [{ owner: 'ada', status: 'failed' }, 'SEARCH run USING COVERING INDEX run_newest (owner=?', after],
    [{ owner: 'ada', kind: 'team', name: 'x' }, 'SEARCH run USING COVERING INDEX run_newest (owner=?', after],
    [
      { owner: 'ada', status: 'failed', metadata: { key: 'a', value: 'b' } },
      'SEARCH run USING INDEX run_with_metadata (owner=?',
      after
    ],
    [
      { owner: 'ada', since: 5, kind: 'team', name: 'x' },
      'SEARCH run USING COVERING INDEX run_changed (owner=? AND updated_at>?',
      changedAfter
    ],
    [
      { owner: 'ada', since: 5, metadata: { key: 'a', value: 'b' } },
      'SEARCH run USING INDEX run_changed (owner=? AND updated_at>?',
      changedAfter
    ],
    [{ status: 'failed' }, 'SEARCH run USING COVERING INDEX run_not_completed (status=?', after],
    [{ name: 'x' }, 'SCAN run USING COVERING INDEX run_created', ' ((created_at,run_id)<(?,?))'],
    [{}, 'SCAN run USING COVERING INDEX run_created', ' ((created_at,run_id)<(?,?))']
  ] as const
  for (const [query, from, place] of queries) {
    const isOpen = from.endsWith('?')
    const label = JSON.stringify(query)
    const first = await plansOf(() => listRuns(db, ALL_IN_RUN, { limit: 50, ...query }))
    t.ok(first.includes(isOpen ? `${from})` : from), `${label}: ${first.join(', ')}`)
    const next = await plansOf(() => listRuns(db, ALL_IN_RUN, { limit: 50, ...query, cursor }))
    const wanted = `${from}${place}${isOpen ? ')' : ''}`.replace('SCAN', 'SEARCH')
    t.ok(next.includes(wanted), `${label}: ${next.join(', ')}`)
  }
})

t.test('the last task of a context is found by an index', async (t) => {
  const tasks = createTaskStore(db, new GroupCommit(db), claimant, () => undefined)
  const plans = await plansOf(async () => tasks.lastOfContext(['global', 'b'], 'ada', 'c'))
  t.same(plans, ['SEARCH task USING INDEX task_context (owner=? AND context_id=?)'])
})

t.test('the next run of the queue is found by indexes, as is its place', async (t) => {
  const query = { runnables, perOwner: 5, unlimited: 'anonymous' }
  const plans = await plansOf(() => findNext(db, query))
  const next = 'SEARCH l USING COVERING INDEX queue_line_next (registry=? AND kind=? AND name=? AND busy<?)'
  const line = 'SEARCH l USING PRIMARY KEY (owner=? AND registry=? AND kind=? AND name=?)'
  const first = 'SEARCH r USING INDEX run_waiting (registry=? AND kind=? AND name=? AND owner=?)'
  t.same(
    plans.filter((plan) => plan.startsWith('SEARCH')),
    [next, line, first]
  )
  const waiting = { run_id: 'a', owner: 'ada', epoch: 0, status: 'submitted', queued_at: 1 } as const
  const places = await plansOf(() => readPositions(db, [waiting]))
  t.ok(
    places.some((plan) =>
      plan.startsWith('SEARCH r USING INDEX run_place (owner=? AND queued_at>? AND queued_at<?)')
    ),
    places.join()
  )
})

t.test('a page of inputs starts in an index, where the previous page ended', async (t) => {
  const place = { cursor: '1000.9000.a.1' }
  const queries = [
    [{}, 'INDEX run_not_completed (status=?)'],
    [place, 'INDEX run_not_completed (status=? AND (created_at,run_id)<(?,?))'],
    [{ owner: 'ada' }, 'COVERING INDEX run_newest (owner=?)'],
    [{ owner: 'ada', ...place }, 'COVERING INDEX run_newest (owner=? AND (created_at,run_id)<(?,?))'],
    [{ runId: 'a' }, 'INDEX sqlite_autoindex_run_1 (run_id=?)']
  ] as const
  for (const [query, from] of queries) {
    const kinds = ['question', 'tool'] as const
    const [runs, inputs] = await plansOf(() => listInputs(db, ALL_IN_RUN, { kinds, limit: 50, ...query }))
    t.equal(runs, `SEARCH r USING ${from}`, JSON.stringify(query))
    t.equal(inputs, 'SEARCH run_input USING INDEX run_input_waiting (run_id=?)')
  }
})

t.test('the inputs of a waiting run are read from their index', async (t) => {
  const plans = await plansOf(() => readWaiting(db, 'a'))
  const search = 'SEARCH run_input USING INDEX run_input_waiting (run_id=?)'
  t.same(plans, [search, search])
})
t.test('open pushes are claimed and counted by partial indexes', async (t) => {
  const tasks = createTaskStore(db, new GroupCommit(db), claimant, () => undefined)
  const claimed = await plansOf(() => Promise.resolve(tasks.claimPushes({ endpoint: '/a', maxTasks: 9 })))
  t.same(claimed, [
    'SEARCH push_config USING INDEX push_config_open (task_id=?)',
    'LIST SUBQUERY 1',
    'SCAN push_config USING INDEX push_config_open'
  ])
  const counted = await plansOf(() => Promise.resolve(tasks.countOpenPushes('ada')))
  t.match(counted, [/push_config USING (COVERING )?INDEX push_config_open_of_owner \(owner=\?\)/])
})

t.test('a page of sessions and a page of messages read only their rows', async (t) => {
  const index = createSessionIndex(
    db,
    new GroupCommit(db),
    () => undefined,
    createSessionEntry({ write: async () => ({}) }, new SessionFollowers())
  )
  const key = { registry: 'global', owner: 'ada', kind: 'agent', name: 'a', sessionId: 's' } as const
  const filters = [{}, { kind: 'agent' as const }, { name: 'a' }, { kind: 'agent' as const, name: 'a' }]
  for (const place of scopes.flatMap((scope) => [{ scope }, { scope, cursor: 's9.YQ' }]))
    for (const filter of filters) {
      const label = JSON.stringify({ ...filter, ...place })
      const plans = await plansOf(async () => index.list({ ...base, ...place, ...filter }))
      const isNamed = 'name' in filter || !('registry' in place.scope)
      const search = isNamed
        ? 'session_named (owner=? AND registry=? AND kind=? AND name=?'
        : 'session_listed (owner=?'
      const found = plans.find((plan) => plan.startsWith(`SEARCH session USING INDEX ${search}`))
      t.equal(found?.includes('updated_slot<'), 'cursor' in place, `${label}: ${found}`)
      t.notOk(
        plans.some((plan) => SCAN.test(plan)),
        label
      )
    }
  const named = await plansOf(async () => index.list({ ...base, scope: scopes[0], sessionId: 's' }))
  t.ok(
    named.some((plan) => plan.includes('session_of_owner (owner=? AND session_id=?)')),
    named.join()
  )
  for (const before of [{}, { before: 'm9' }]) {
    const plans = await plansOf(async () => index.messages(key, { limit: 9, ...before }))
    const searched = plans.filter((plan) => plan.startsWith('SEARCH'))
    t.same(searched, [
      'SEARCH session_message USING INDEX sqlite_autoindex_session_message_1 (session_key=? AND seq<?)',
      'SEARCH session_branch USING INDEX sqlite_autoindex_session_branch_1 (session_key=? AND first_seq<?)',
      ...('before' in before
        ? ['SEARCH session_branch USING INDEX sqlite_autoindex_session_branch_1 (session_key=?)']
        : []),
      'SEARCH session_branch USING INDEX session_branch_parent (parent_key=? AND parent_seq>? AND parent_seq<?)'
    ])
    t.notOk(plans.some((plan) => plan.includes('SCAN session') || plan.includes('TEMP B-TREE FOR ORDER')))
  }
  const ofRun = await plansOf(async () =>
    t.rejects(async () => index.messages(key, { limit: 9, branch: 'r' }), { code: 'RUN_ERR_NO_TURN' })
  )
  t.same(
    ofRun.filter((plan) => plan.includes('session_message')),
    [
      'SEARCH session_message USING INDEX session_message_turn (session_key=? AND turn_id=?)',
      'SEARCH session_message USING INDEX session_message_turn (session_key=? AND turn_id>? AND turn_id<?)'
    ]
  )
})

t.test('what belongs to a person, or to a session, is found by indexes', async (t) => {
  const session = { registry: 'global', kind: 'agent', name: 'a', sessionId: 's' } as const
  const commit = { write: <T>(write: (trx: typeof db) => T) => write(db), isShared: false }
  const memory = createMemoryStore({
    db,
    commit: commit as never,
    codes: new CodeCache(db, opened.database, 0),
    retention: { memoryMaxItems: 1 },
    skipDamaged: () => undefined,
    sweep: async () => 0
  })
  await memory.put({ id: '1', owner: 'ada', namespace: 'echo', text: 'x', createdAt: 1 })
  const calls: [() => Promise<unknown>, string[]][] = [
    [
      async () => memory.unembedded!('ada', 'echo', 'm:2', 9),
      ['model>?', 'model<?', 'model=?'].map((found) => `memory_item_of_model (space_id=? AND ${found}`)
    ],
    ...[{}, { session }, { unfinished: true }, { session, unfinished: false }].map(
      (query): [() => Promise<unknown>, string[]] => [
        () => listOwnedRuns(db, ALL_IN_RUN, { ...base, ...query }),
        ['(owner=?', 'run_of_user (user_id=?']
      ]
    ),
    ...(['session', 'browser_state', 'remote_session'] as const).flatMap((table) =>
      [{}, { sessionId: 's' }].map((query): [() => Promise<unknown>, string[]] => [
        () => findSessionKeys(db, table, { ...base, ...query }),
        [`${table}_of_owner (owner=?`]
      ])
    ),
    [async () => memory.removeSession('ada', 's', () => true), ['memory_item_of_session (session_id=?']],
    [async () => memory.removeOwner('ada', 9), ['(owner=?']]
  ]
  for (const [call, indexes] of calls) {
    const plans = await plansOf(call)
    const label = plans.join(', ')
    for (const index of indexes)
      t.ok(
        plans.some((plan) => plan.includes(index)),
        `${index}: ${label}`
      )
    t.notOk(
      plans.some((plan) => SCAN.test(plan)),
      label
    )
  }
})
