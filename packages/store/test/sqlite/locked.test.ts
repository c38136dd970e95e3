import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setImmediate } from 'node:timers/promises'
import { storedRun, textEntry } from '@svc/testing'
import { createStore } from '@svc/store'
import { Kysely } from 'kysely'
import t, { type Test } from 'tap'
import { GroupCommit } from '../../src/sqlite/group-commit.ts'
import { createNodeSqliteDialect, openDatabase } from '../../src/sqlite/open-database.ts'
import type { Tables } from '../../src/tables.ts'

const all = { entries: 9, bytes: 9_999 }

/** A store with a run, and another program that may lock its file. */
async function openTwice(t: Test) {
  const file = join(t.testdir(), 'app.db')
  const store = await createStore({ url: `sqlite:${file}` })
  const run = storedRun()
  await store.runs.create(run)
  const other = new DatabaseSync(file)
  t.teardown(async () => {
    other.close()
    await store.close()
  })
  return { store, run, other }
}

t.test('a write waits for another program’s lock without blocking the process', async (t) => {
  const { store, run, other } = await openTwice(t)
  other.exec('begin immediate')
  let isWritten = false
  const next = storedRun()
  const writing = Promise.all([
    store.runs.create(next),
    store.log.append(next.runId, 1, [textEntry(1)]),
    store.runs.recordStep(next.runId, 1, 'a', 1)
  ]).then(() => (isWritten = true))
  for (let turn = 0; turn < 200; turn++) await setImmediate()
  t.same(await store.runs.get(run.runId), run, 'what is there can be read')
  t.equal(isWritten, false)
  const later = store.log.append(run.runId, 1, [textEntry(1)])
  other.exec('commit')
  await Promise.all([writing, later])
  t.equal((await store.log.read(next.runId, 0, all)).length, 1)
  t.same(await store.runs.readStep(next.runId, 'a'), { output: 1 })
})

t.test('a lasting lock fails each write after its own patience', async (t) => {
  const file = join(t.testdir(), 'app.db')
  const db = new Kysely<Tables>({
    dialect: createNodeSqliteDialect(openDatabase({ path: file, durability: 'normal' }))
  })
  const commit = new GroupCommit(db)
  const other = new DatabaseSync(file)
  t.teardown(() => db.destroy())
  other.exec('begin immediate')
  const done: string[] = []
  const write = (name: string, patience?: number) =>
    commit
      .write(async () => name, patience)
      .then(
        () => name,
        (err: Error) => `${name}: ${err.message}`
      )
      .then((outcome) => void done.push(outcome))
  const [first, ...rest] = [write('hasty', 10), write('slow', 60_000), write('slower', 60_000)]
  await first
  const later = write('hasty too', 10)
  await later
  t.same(done, ['hasty: database is locked', 'hasty too: database is locked'])
  other.close()
  await Promise.all(rest)
  t.same(done.slice(2), ['slow', 'slower'], 'in their order')
  await commit.close()
})

t.test('a start waits for another program’s lock', async (t) => {
  const file = join(t.testdir(), 'app.db')
  await (await createStore({ url: `sqlite:${file}` })).close()
  const other = new DatabaseSync(file)
  other.exec('begin immediate')
  const starting = createStore({ url: `sqlite:${file}` })
  for (let turn = 0; turn < 50; turn++) await setImmediate()
  other.close()
  await (await starting).close()
})
