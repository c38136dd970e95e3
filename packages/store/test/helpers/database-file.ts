import { createHash } from 'node:crypto'
import { copyFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Kysely } from 'kysely'
import { migrate, type MIGRATIONS } from '../../src/sqlite/migrations/migrate.ts'
import { createNodeSqliteDialect, openDatabase } from '../../src/sqlite/open-database.ts'

export type Migrations = typeof MIGRATIONS

/** What is in a database of the first version. */
const DATA = `
  insert into run values
    ('r', 'g', 'agent', 'a', 's', 'o', null, null, null, 1, 1, 'completed', 1, '{"text":"é"}', null, 9, 1, 'é'),
    ('w', 'g', 'workflow', 'a', 's', 'o', 'k', 'h', '{}', 2, 2, 'input-required', 1, null, null, 9, null, null);
  insert into run_part values ('r', 1, '{"seq":1}'), ('w', 1, '{"seq":1}');
  insert into run_step values ('w', '["a"]', '1');
  insert into run_input values ('w.1', 'w', 'approval', null, null, 'c', 't', '{}', 2, '[]', '[]', 9, null);
  insert into session_message values ('agent/a/1/so', 1, 'a', '{"role":"user","content":"old"}');
  insert into session values ('agent/a/1/so', 1, 5);
  insert into memory_space values (1, 'o', 'a');
  insert into memory_item values (1, 1, 'm', 'Likes tea', '{"a":1}', x'0000803f', 5);
  insert into memory_word values (1, 'tea', 1);
  insert into task values ('r', 'c', 'g', 'o', 'a', 1);
  insert into task_message values ('g', 'o', 'm', 'r', 1, '{}');
  insert into push_config values ('r', 'p', '{"id":"p"}', 3);
  insert into checkpoint values ('w', 1, '{"input":1}');
`

/** What is added by the second version. */
const FILES_DATA = `
  insert into file values ('f', 'r', 'a/b', null, 4, 'h', 1);
  update run set file_bytes = 4 where run_id = 'r';
`

/** Opens a file, brings it up to date with these migrations, and closes it. */
export async function upgradeFile(
  file: string,
  migrations: Migrations,
  upgrade: (db: Kysely<never>, migrations: Migrations) => Promise<unknown> = migrate
): Promise<void> {
  const opened = openDatabase({ path: file, durability: 'normal' })
  // What a process wrote outlives it; only a machine that fails needs it on the disk.
  opened.database.prepare('pragma synchronous = off').all()
  const db = new Kysely<never>({ dialect: createNodeSqliteDialect(opened) })
  try {
    await upgrade(db, migrations)
  } finally {
    await db.destroy()
  }
}

/** Makes a file as the version with these migrations left it, with data; without migrations there is no file. */
export async function makeFile(file: string, migrations: Migrations): Promise<void> {
  mkdirSync(dirname(file), { recursive: true })
  const [first, ...others] = Object.entries(migrations)
  if (first === undefined) return
  await upgradeFile(file, Object.fromEntries([first]))
  const database = new DatabaseSync(file)
  database.exec(DATA)
  database.close()
  if (others.length > 0) await upgradeFile(file, migrations)
  if (!('0002-files' in migrations)) return
  const upgraded = new DatabaseSync(file)
  upgraded.exec(FILES_DATA)
  upgraded.close()
}

/** All that is in a file, but for the times of upgrades. */
export function readAll(file: string): object {
  const database = new DatabaseSync(file)
  const all = (query: string) => database.prepare(query).all()
  const tables = all(`select name from sqlite_master where type = 'table' and name not like 'sqlite_%'`)
  const rows = tables.map(({ name }) => {
    const found = all(`select * from ${String(name)}`)
    for (const row of found) {
      if (name === 'kysely_migration') row['timestamp'] = null
      if (name === 'session') row['updated_at'] = null
    }
    return [name, found]
  })
  const schema = all(`select type, name, sql from sqlite_master order by name`)
  const integrity = all('pragma integrity_check')
  database.close()
  return { schema, integrity, rows: Object.fromEntries(rows) as object }
}

const FILES = ['', '-wal']

/** Copies a database as a process that is killed now leaves it. */
export function copyFile(from: string, to: string): string {
  mkdirSync(dirname(to), { recursive: true })
  for (const end of FILES) if (existsSync(from + end)) copyFileSync(from + end, to + end)
  return to
}

/** The same text for files of the same bytes. */
export function hashFile(file: string): string {
  const hash = createHash('sha256')
  for (const end of FILES) hash.update(existsSync(file + end) ? readFileSync(file + end) : 'none').update(end)
  return hash.digest('hex')
}
