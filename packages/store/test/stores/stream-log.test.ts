import { setImmediate, setTimeout } from 'node:timers/promises'
import { createRunEngine } from '@svc/registry'
import { readEntries } from '@svc/registry/engine'
import { storedRun, textEntry } from '@svc/testing'
import { createStore } from '@svc/store'
import { Kysely } from 'kysely'
import t from 'tap'
import { GroupCommit } from '../../src/sqlite/group-commit.ts'
import { migrate } from '../../src/sqlite/migrations/migrate.ts'
import { createNodeSqliteDialect, openDatabase } from '../../src/sqlite/open-database.ts'
import { openRuns } from '../../src/sqlite/open-sqlite.ts'
import type { Tables } from '../../src/tables.ts'

const READERS = 50
const limit = { entries: 512, bytes: 65_536 }

/** A log, and how often it was read from the database. */
async function createLog(t: { teardown(fn: () => unknown): unknown }) {
  let reads = 0
  const opened = openDatabase({ path: ':memory:', durability: 'normal' })
  const db = new Kysely<Tables>({
    dialect: createNodeSqliteDialect(opened),
    log: ({ query }) => void (reads += query.sql.includes('from "run_part"') ? 1 : 0)
  })
  await migrate(db as unknown as Kysely<never>)
  t.teardown(() => db.destroy())
  const commit = new GroupCommit(db)
  const { log, runs } = openRuns(db, commit, opened.database)
  const run = storedRun()
  await runs.create(run)
  return { db, commit, log, runId: run.runId, reads: () => reads }
}

t.test('readers that keep up need no read of the database', async (t) => {
  const { log, runId, reads } = await createLog(t)
  const runs = { find: () => storedRun({ runId }) }
  const seen = Array.from({ length: READERS }, () => [] as number[])
  const all = seen.map(async (seqs) => {
    for await (const { seq } of readEntries({ stores: { log, runs } as never }, runId)) seqs.push(seq)
  })
  await setImmediate()
  const before = reads()
  for (let seq = 1; seq <= 10; seq++) {
    await log.append(runId, 1, [textEntry(seq)])
    while (seen.some(({ length }) => length < seq)) await setImmediate()
  }
  t.equal(reads() - before, 0)
  log.abandon(runId)
  await Promise.all(all)
  for (const seqs of seen) t.same(seqs, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
})

t.test('a read returns every acknowledged part', async (t) => {
  const { log, runId } = await createLog(t)
  const leave = [1, 2].map(() => log.follow(runId, () => {}))
  const read = async (after: number) => (await log.read(runId, after, limit)).map(({ seq }) => seq)
  for (let seq = 1; seq <= 20; seq++) {
    t.same(await read(seq - 1), [])
    const [, during] = await Promise.all([log.append(runId, 1, [textEntry(seq)]), read(seq - 1)])
    t.ok(during.length <= 1)
    t.same(await read(seq - 1), [seq])
    t.same(
      await read(0),
      Array.from({ length: seq }, (_, index) => index + 1)
    )
  }
  t.same(
    (await log.read(runId, 5, { entries: 2, bytes: 65_536 })).map(({ seq }) => seq),
    [6, 7]
  )
  t.same(
    (await log.read(runId, 5, { entries: 9, bytes: 1 })).map(({ seq }) => seq),
    [6],
    'as much as asked for'
  )
  for (const each of leave) each()
})

t.test('the end of a run is visible only with its last part', async (t) => {
  const { db, commit, log, runId } = await createLog(t)
  for (const _ of [1, 2]) log.follow(runId, () => {})
  t.same(await log.read(runId, 0, limit), [])
  const appended = log.append(runId, 1, [textEntry(1)], { status: 'failed', at: 2 })
  // In the same transaction: what is asked for here is answered as soon as it is committed.
  const inside = Promise.withResolvers<void>()
  await Promise.all([
    appended,
    commit.write(async () => inside.resolve()),
    (async () => {
      await inside.promise
      const run = await db.selectFrom('run').select('status').executeTakeFirst()
      t.equal(run?.status, 'failed')
      t.equal((await log.read(runId, 0, limit)).length, 1)
    })()
  ])
})

t.test('a failed read is repeated', async (t) => {
  const { log, runId } = await createLog(t)
  for (const _ of [1, 2]) log.follow(runId, () => {})
  await log.append(runId, 1, [textEntry(1)])
  log.abandon(runId)
  const bad = { entries: Number.NaN, bytes: 1 }
  for (const _ of [1, 2]) await t.rejects(async () => log.read(runId, 0, bad))
  t.equal((await log.read(runId, 0, limit)).length, 1)
})

t.test('readers joining at any time get each part once, and the end', async (t) => {
  const store = await createStore({ url: 'sqlite::memory:' })
  const engine = createRunEngine({ stores: store })
  t.teardown(async () => {
    await engine.close()
    await store.close()
  })
  const PARTS = 60
  const runnable = {
    kind: 'agent',
    name: 'teller',
    async *stream() {
      for (let n = 0; n < PARTS; n++) {
        yield { type: 'text', text: `part ${n}` } as const
        if (n % 3 === 0) await setImmediate()
        if (n % 10 === 0) await setTimeout(1)
      }
    }
  } as const
  const run = await engine.start(runnable as never, 'x')
  const all = Array.from({ length: READERS }, async (_, index) => {
    for (let turn = 0; turn < index * 2; turn++) await setImmediate()
    const after = index % 3 === 0 ? 0 : index % 7
    const seqs: number[] = []
    for await (const { seq } of engine.parts(run.runId, after)) seqs.push(seq)
    return { after, seqs }
  })
  for (const { after, seqs } of await Promise.all(all))
    t.same(
      seqs,
      Array.from({ length: PARTS + 2 - after }, (_, index) => after + 1 + index)
    )
})

t.test('the transaction that ends a run removes what only its resumption needs', async (t) => {
  const { db, log, runId } = await createLog(t)
  const left = async () => {
    const tables = ['run_step', 'checkpoint'] as const
    const rows = await Promise.all(tables.map((table) => db.selectFrom(table).selectAll().execute()))
    return rows.flat().length
  }
  await db
    .insertInto('checkpoint')
    .values({ run_id: runId, epoch: 1, state: '{"input":"private"}' })
    .execute()
  await log.append(runId, 1, [textEntry(1)], undefined, [{ key: 'a', output: 'private' }])
  t.equal(await left(), 2)
  await log.append(runId, 1, [textEntry(2)], { status: 'failed', at: 2_000 })
  t.equal(await left(), 0, 'a crash right after it leaves nothing')
})
