import { RUNNABLE_KINDS } from '@svc/registry'
import { Kysely } from 'kysely'
import t from 'tap'
import { GroupCommit } from '../src/group-commit.ts'
import { migrate } from '../src/migrations/migrate.ts'
import { listChangedRuns, listRuns } from '../src/run-lists.ts'
import { createNodeSqliteDialect } from '../src/sqlite/node-sqlite-dialect.ts'
import { openDatabase } from '../src/sqlite/open-database.ts'
import type { Tables } from '../src/tables.ts'
import { createTaskStore } from '../src/task-store.ts'

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

t.test('a page by the last change, and its count, come from an index alone', async (t) => {
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
      const plans = await plansOf(() => listChangedRuns(db, { ...base, ...filter, ...place }))
      const label = JSON.stringify({ ...filter, ...place })
      const from = plans.filter((plan) => plan.includes('COVERING INDEX'))
      t.equal(from.length, 2, label)
      t.ok(from[0]!.startsWith(`SEARCH run USING COVERING INDEX ${index} ${by}`), `${label}: ${from[0]}`)
      t.equal(from[0]!.includes('(updated_at,run_id)<'), 'cursor' in place, `${label}: ${from[0]}`)
      // Any index has the owner's runs when nothing else is asked for.
      t.ok(from[1]!.includes('owner=?'), `${label}: ${from[1]}`)
      t.ok(by === '(owner=?' || from[1]!.includes(`${index} ${by}`), `${label}: ${from[1]}`)
      t.notOk(
        plans.some((plan) => plan.startsWith('SCAN')),
        label
      )
    }
  }
})

t.test('a page of an owner’s runs begins in the index where the one before ended', async (t) => {
  for (const scope of [undefined, ...scopes]) {
    const plans = await plansOf(() => listRuns(db, { ...base, cursor, ...(scope && { scope }) }))
    t.same(plans, ['SEARCH run USING INDEX run_newest (owner=? AND (created_at,run_id)<(?,?))'])
  }
})

t.test('the last task of a context is found by an index', async (t) => {
  const tasks = createTaskStore(db, new GroupCommit(db), () => undefined)
  const plans = await plansOf(async () => tasks.lastOfContext(['global', 'b'], 'ada', 'c'))
  t.same(plans, ['SEARCH task USING INDEX task_context (owner=? AND context_id=?)'])
})
