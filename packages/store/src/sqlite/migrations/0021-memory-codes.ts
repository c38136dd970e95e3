import type { Kysely } from 'kysely'

/**
 * The models of embeddings, and codes by which similar ones are found. The index has the codes too: rows with embeddings are long, and
 * all codes of a space are read at once.
 */
export async function addMemoryCodes(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('memory_item').addColumn('code', 'blob').execute()
  await db.schema.alterTable('memory_item').addColumn('model', 'text').execute()
  await db.schema
    .createIndex('memory_item_of_model')
    .on('memory_item')
    .columns(['space_id', 'model', 'item_id', 'code'])
    .execute()
}
