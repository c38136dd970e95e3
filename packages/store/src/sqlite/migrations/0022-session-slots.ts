import { sql, type Kysely } from 'kysely'

const INDEXES = {
  session_listed: ['owner, updated_slot', 'listed = 1'],
  session_named: ['owner, registry, kind, name, updated_slot', 'listed > 0']
}

/** Lists find sessions by the half minute of their last change: indexes then know few of the changes. */
export async function addSessionSlots(db: Kysely<unknown>): Promise<void> {
  const send = (statement: string) => sql.raw(statement).execute(db)
  await send(
    'alter table session add column updated_slot integer generated always as (updated_at >> 15) virtual'
  )
  for (const [name, [columns, condition]] of Object.entries(INDEXES)) {
    await send(`drop index ${name}`)
    await send(`create index ${name} on session (${columns}) where ${condition}`)
  }
}
