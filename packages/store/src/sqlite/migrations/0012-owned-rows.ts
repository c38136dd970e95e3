import { sql, type Kysely } from 'kysely'

const BATCH = 500

/** What belongs to a person, or was made in a session, is found by columns of its own. */
export async function addOwnedRows(db: Kysely<unknown>): Promise<void> {
  const send = (statement: string) => sql.raw(statement).execute(db)
  await send('alter table run add column user_id text')
  await send('create index run_of_user on run (user_id, run_id) where user_id is not null')
  await send('alter table memory_item add column session_id text')
  await send('create index memory_item_of_session on memory_item (session_id) where session_id is not null')
  await send(`update memory_item set session_id = json_extract(metadata, '$.sessionId')
    where json_valid(metadata) and json_type(metadata, '$.sessionId') = 'text'`)
  await send(`update memory_item set session_id = substr(namespace, instr(namespace, '/summary/') + 9) from memory_space
    where memory_space.space_id = memory_item.space_id and session_id is null and id = 'summary' and instr(namespace, '/summary/') > 0`)
  for (const table of ['browser_state', 'remote_session']) {
    for (const name of ['owner', 'session_id'])
      await send(`alter table ${table} add column ${name} text not null default ''`)
    await fill(db, table)
    await send(`create index ${table}_of_owner on ${table} (owner, session_id)`)
  }
}

async function fill(db: Kysely<unknown>, table: string): Promise<void> {
  for (let after = ''; ;) {
    const { rows } = await sql<{ session_key: string }>`
      select distinct session_key from ${sql.table(table)} where session_key > ${after} order by session_key limit ${BATCH}
    `.execute(db)
    for (const { session_key } of rows) {
      const { owner, sessionId } = parse(session_key)
      await sql`update ${sql.table(table)} set owner = ${owner}, session_id = ${sessionId}
        where session_key = ${session_key}`.execute(db)
    }
    if (rows.length < BATCH) return
    after = rows.at(-1)!.session_key
  }
}

// `/registry/kind/name/length of the id/id owner`, without the first two slashes for the global registry.
function parse(key: string) {
  const [, length = '0', rest = ''] = /^(?:\/[^/]*\/)?[^/]*\/[^/]*\/(\d+)\/(.*)$/s.exec(key) ?? []
  return { sessionId: rest.slice(0, Number(length)), owner: rest.slice(Number(length)) }
}
