import { sql, type Kysely } from 'kysely'

/** The models of embeddings, and codes by which similar ones are found: all those of a space are compared in the index. */
export async function addMemoryCodes(db: Kysely<unknown>, schema: string): Promise<void> {
  const send = (statement: string) => sql.raw(statement).execute(db)
  await send(
    `alter table "${schema}".memory_item add column code bit(512), add column model text collate "C"`
  )
  await send(
    `create index memory_item_of_model on "${schema}".memory_item (space_id, model, item_id) include (code)`
  )
}
