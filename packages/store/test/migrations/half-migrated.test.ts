import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { codeOf } from '@svc/registry/testing'
import type { Kysely } from 'kysely'
import { Migrator } from 'kysely/migration'
import t from 'tap'
import { MIGRATIONS } from '../../src/migrations/migrations.ts'
import { copyFile, makeFile, readAll, upgradeFile, type Migrations } from '../helpers/database-file.ts'
import { killEverywhere, Left } from '../helpers/killed-upgrades.ts'

/** As early versions did it: each statement for itself. */
async function upgradeBefore(db: Kysely<never>, migrations: Migrations): Promise<void> {
  const provider = { getMigrations: async () => migrations }
  await new Migrator({ db, provider, disableTransactions: true }).migrateToLatest()
}

const upgrade = (file: string) => upgradeFile(file, MIGRATIONS)
const [FIRST] = Object.entries(MIGRATIONS)
// Later ones have always been transactions.
const EARLY = Object.fromEntries(Object.entries(MIGRATIONS).filter(([name]) => name < '0007'))

/** What early versions left that were stopped in an upgrade from these migrations, and what it should have become. */
async function stoppedBefore(folder: string, from: Migrations) {
  const before = join(folder, 'app.db')
  await makeFile(before, from)
  const whole = copyFile(before, `${before}-whole/app.db`)
  await upgrade(whole)
  const left = new Left()
  await killEverywhere(before, (file) => upgradeFile(file, EARLY, upgradeBefore), left)
  return { wanted: readAll(whole), files: left.files }
}

t.test('an unfinished first start of an early version is repeated', async (t) => {
  const { wanted, files } = await stoppedBefore(t.testdir(), {})
  t.ok(files.length > 40)
  for (const file of files) {
    t.equal(await codeOf(() => upgrade(file)), 'none', file)
    t.same(readAll(file), wanted, file)
  }
})

t.test('an unfinished upgrade of an early version is refused, and changes nothing', async (t) => {
  const { wanted, files } = await stoppedBefore(t.testdir(), Object.fromEntries([FIRST!]))
  const codes = new Set<unknown>()
  for (const file of files) {
    const left = readAll(file)
    const code = await codeOf(() => upgrade(file))
    codes.add(code)
    if (code === 'none') t.same(readAll(file), wanted, file)
    else t.equal(await codeOf(() => upgrade(file)), code, 'again')
    if (code !== 'none') t.same(tablesOf(readAll(file)), tablesOf(left), file)
  }
  t.same(codes, new Set(['STO_ERR_HALF_MIGRATED', 'none']))
})

t.test('tables of another program stay', async (t) => {
  const own = 'create table run (a)'
  const bookkeeping =
    'create table kysely_migration (name text, timestamp text); create table kysely_migration_lock (id, is_locked)'
  for (const made of [own, `${own}; ${bookkeeping}; create table other (a)`]) {
    const file = join(t.testdir(), 'app.db')
    const database = new DatabaseSync(file)
    database.exec(made)
    database.close()
    t.equal(await codeOf(() => upgrade(file)), 'STO_ERR_OPEN')
    const after = new DatabaseSync(file)
    t.same(after.prepare('select a from run').all(), [])
    after.close()
  }
})

// What bookkeeping a start writes before the migrations is no loss.
function tablesOf({ rows }: { rows?: object }): object {
  return Object.fromEntries(Object.entries(rows ?? {}).filter(([name]) => !name.startsWith('kysely_')))
}
