import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { codeOf } from '@svc/testing'
import { isFull } from '@tools/wires/volume'
import { sql } from 'kysely'
import t, { type Test } from 'tap'
import { MIGRATIONS } from '../../../src/sqlite/migrations/migrate.ts'
import { copyFile, makeFile, readAll, upgradeFile, type Migrations } from '../../helpers/database-file.ts'
import { beforeEveryStatement } from '../../helpers/every-statement.ts'
import { killEverywhere, Left } from '../../helpers/killed-upgrades.ts'

/** One more than there are: a column, an index, and a table that is made anew, each with data. */
const SYNTHETIC: Migrations = {
  '9999-synthetic': {
    async up(db) {
      await db.schema.alterTable('run').addColumn('synthetic', 'text').execute()
      await sql`update run set synthetic = run_id`.execute(db)
      await db.schema.createIndex('run_synthetic').on('run').column('synthetic').execute()
      await db.schema.alterTable('checkpoint').renameTo('checkpoint_before').execute()
      await sql`create table checkpoint as select *, 1 as synthetic from checkpoint_before`.execute(db)
      await db.schema.dropTable('checkpoint_before').execute()
    }
  }
}
const ALL = { ...MIGRATIONS, ...SYNTHETIC }

/** What is left when the database fails from one statement that writes on, for each of them, or every so many. */
async function failEverywhere(
  t: Test,
  before: string,
  upgrade: (file: string) => Promise<void>,
  left: Left,
  every: number
) {
  for (let failing = 1, code: unknown; code !== 'none'; failing += every) {
    const file = copyFile(before, `${before}-failed-${failing}/app.db`)
    let writes = 0
    const fail = (method: string) => {
      if ((method === 'run' || method === 'exec') && ++writes >= failing) throw new Error('planted')
    }
    code = await codeOf(() => beforeEveryStatement(fail, () => upgrade(file)))
    if (code !== 'none') t.equal(code, 'STO_ERR_OPEN')
    left.add(file)
  }
}

t.setTimeout(240_000)

for (let count = 0; count < Object.keys(ALL).length; count++) {
  const version = Object.fromEntries(Object.entries(ALL).slice(0, count))
  const from = Object.keys(version).at(-1) ?? 'nothing'
  const upgrade = (file: string) => upgradeFile(file, ALL)

  t.test(`an upgrade from ${from} may be interrupted at every statement`, async (t) => {
    const before = join(t.testdir(), 'app.db')
    await makeFile(before, version)
    const whole = copyFile(before, `${before}-whole/app.db`)
    await upgrade(whole)
    const wanted = readAll(whole)
    t.match(wanted, { integrity: [{ integrity_check: 'ok' }] })

    const left = new Left()
    const statements = await killEverywhere(before, upgrade, left)
    t.comment(`${statements} statements leave ${left.files.length} states`)
    t.ok(left.files.length > Object.keys(ALL).length - count)
    // The first version writes all tables, the last but one has all data.
    if (count === 0) await failEverywhere(t, before, upgrade, left, isFull ? 1 : 16)
    if (count === Object.keys(MIGRATIONS).length) await failEverywhere(t, before, upgrade, left, 1)
    for (const file of left.files) {
      t.equal(await codeOf(() => upgrade(file)), 'none', file)
      t.same(readAll(file), wanted, file)
    }
  })
}

t.test('tables of another program stay', async (t) => {
  const own = 'create table run (a)'
  const bookkeeping =
    'create table kysely_migration (name text, timestamp text); create table kysely_migration_lock (id, is_locked)'
  for (const made of [own, `${own}; ${bookkeeping}; create table other (a)`]) {
    const file = join(t.testdir(), 'app.db')
    const database = new DatabaseSync(file)
    database.exec(made)
    database.close()
    t.equal(await codeOf(() => upgradeFile(file, ALL)), 'STO_ERR_OPEN')
    const after = new DatabaseSync(file)
    t.same(after.prepare('select a from run').all(), [])
    after.close()
  }
})
