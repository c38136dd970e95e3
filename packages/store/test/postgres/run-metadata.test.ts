import { storedRun } from '@svc/testing'
import { Kysely, PostgresDialect } from 'kysely'
import { Pool } from 'pg'
import t from 'tap'
import { createFirstTables } from '../../src/postgres/migrations/0001-first-tables.ts'
import { addRunStats } from '../../src/postgres/migrations/0002-run-stats.ts'
import { addQueueLines } from '../../src/postgres/migrations/0004-queue-lines.ts'
import { keepRunsApart } from '../../src/postgres/migrations/0005-runs-apart.ts'
import { digestPair } from '../../src/rows/metadata-pairs.ts'
import { onPostgres } from '../helpers/each-store.ts'
import { createNodes } from '../helpers/nodes.ts'

const metadata = { customer: 'c-17', 'a "quoted": \\key\\"': '":"', nul: '\u0000', half: '\ud800', empty: '' }
const pairs = Object.entries(metadata).map(([key, value]) => ({ key, value }))

await onPostgres(t, async (t, _open, url) => {
  await t.test('each text of the metadata of a run finds it, until it is removed', async (t) => {
    const { admin, schema, open } = await createNodes(t, url)
    const { runs } = await open()
    const run = storedRun({ metadata, createdAt: 1 })
    await runs.create(run)
    await runs.create(storedRun({ metadata: { other: 'c-17' }, createdAt: 2 }))
    await runs.create(storedRun({ createdAt: 3 }))
    const find = async (pair: (typeof pairs)[number], status?: 'working' | 'failed') => {
      const query = { owner: 'ada', metadata: pair, limit: 9, ...(status && { status }) }
      return (await runs.list(query)).runs.map(({ runId }) => runId)
    }
    const count = async () =>
      (await admin.query<{ count: number }>(`select count(*)::int as count from ${schema}.run_metadata`))
        .rows[0]!.count
    for (const pair of pairs) {
      t.same(await find(pair), [run.runId], JSON.stringify(pair))
      t.same(await find(pair, run.status as 'working'), [run.runId])
      t.same(await find(pair, 'failed'), [])
    }
    t.same(await find({ key: 'c-17', value: 'customer' }), [])
    t.equal(await count(), pairs.length + 1, 'a run without metadata has no row')
    await runs.remove(run.runId)
    t.equal(await count(), 1)
    t.same(await find(pairs[0]!), [])
  })

  await t.test('runs that share a digest are told apart', async (t) => {
    const { admin, schema, open } = await createNodes(t, url)
    const { runs } = await open()
    const run = storedRun({ metadata: { customer: 'c-17' } })
    await runs.create(run)
    const other = { key: 'customer', value: 'c-18' }
    await admin.query(`update ${schema}.run_metadata set pair = $1`, [Buffer.from(digestPair(other))])
    t.same((await runs.list({ owner: 'ada', metadata: other, limit: 9 })).runs, [])
  })

  await t.test('the runs of earlier releases are found too', async (t) => {
    const { admin, schema } = await createNodes(t, url)
    await admin.query(`create schema ${schema}`)
    const db = new Kysely<unknown>({
      dialect: new PostgresDialect({ pool: new Pool({ connectionString: url }) })
    })
    t.teardown(() => db.destroy())
    await createFirstTables(db, schema)
    await addRunStats(db, schema)
    await admin.query(
      `insert into ${schema}.run (run_id, registry, kind, name, session_id, owner, metadata, created_at, updated_at, status, epoch, bytes)
        values ('r', 'global', 'agent', 'echo', 's', 'ada', $1, 1, 1, 'working', 1, 0)`,
      [JSON.stringify(metadata)]
    )
    await addQueueLines(db, schema)
    await db.transaction().execute(async (trx) => keepRunsApart(trx, schema))
    const { rows } = await admin.query<{ pair: Buffer }>(`select pair from ${schema}.run_metadata`)
    const hex = (all: Uint8Array[]) => all.map((each) => Buffer.from(each).toString('hex')).toSorted()
    t.same(hex(rows.map(({ pair }) => pair)), hex(pairs.map(digestPair)))
  })
})
