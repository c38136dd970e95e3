import { sql, type Kysely } from 'kysely'

const required = ['registry', 'owner', 'kind', 'name', 'session_id']
const counted = ['created_at', 'turns', 'last_ordinal', 'listed']
const BATCH = 500

/** Sessions have columns of their own for what is in their keys, are listed, and know their runs. */
export async function addSessionList(db: Kysely<unknown>): Promise<void> {
  const add = (definition: string) => sql.raw(`alter table session add column ${definition}`).execute(db)
  for (const name of required) await add(`${name} text not null default ''`)
  for (const name of counted) await add(`${name} bigint not null default 0`)
  for (const name of ['title', 'metadata', 'last_run']) await add(`${name} text`)
  await fill(db)
  const columns = ['owner', 'updated_at', 'session_key', 'registry', 'kind', 'name']
  await db.schema.createIndex('session_of_owner').on('session').columns(['owner', 'session_id']).execute()
  await db.schema
    .createIndex('session_listed')
    .on('session')
    .columns(columns)
    .where(sql<boolean>`listed = 1`)
    .execute()
  await db.schema
    .createTable('session_run')
    .addColumn('session_key', 'text', (column) => column.notNull())
    .addColumn('ordinal', 'integer', (column) => column.notNull())
    .addColumn('run_id', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('session_run_key', ['session_key', 'ordinal'])
    .execute()
  await db.schema.createIndex('session_run_id').on('session_run').column('run_id').unique().execute()
}

// A turn of a member of a team, or of a step, has a path after the id of its run.
const TURNS = `(select count(distinct turn_id) from session_message m where m.session_key = session.session_key)`
const IS_LISTED = `exists (select 1 from session_message m where m.session_key = session.session_key and instr(m.turn_id, '/') = 0)`

async function fill(db: Kysely<unknown>): Promise<void> {
  await sql
    .raw(`update session set created_at = updated_at, turns = ${TURNS}, listed = ${IS_LISTED}`)
    .execute(db)
  for (let after = ''; ;) {
    const { rows } = await sql<{ session_key: string }>`
      select session_key from session where session_key > ${after} order by session_key limit ${BATCH}
    `.execute(db)
    for (const { session_key } of rows) {
      const { registry, owner, kind, name, sessionId } = parse(session_key)
      await sql`update session set registry = ${registry}, owner = ${owner}, kind = ${kind}, name = ${name}, session_id = ${sessionId}
        where session_key = ${session_key}`.execute(db)
    }
    if (rows.length < BATCH) return
    after = rows.at(-1)!.session_key
  }
}

// `/registry/kind/name/length of the id/id owner`, without the first two slashes for the global registry.
function parse(key: string) {
  const [, registry = 'global', kind = '', name = '', length = '0', rest = ''] =
    /^(?:\/([^/]*)\/)?([^/]*)\/([^/]*)\/(\d+)\/(.*)$/s.exec(key) ?? []
  return { registry, kind, name, sessionId: rest.slice(0, Number(length)), owner: rest.slice(Number(length)) }
}
