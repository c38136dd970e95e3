import { wordsOf } from '@svc/registry/store-kit'
import { sql, type Kysely } from 'kysely'
import { encodeEmbedding, parseStored } from '../encoding/stored-values.ts'

const PAGE = 200

interface Moved {
  memory_item: { item_id: number; space_id: number; text: string; embedding: Uint8Array | string | null }
  memory_word: { space_id: number; word: string; item_id: number }
}

/** Indexes memories by their words, owner and namespace. */
export async function addMemoryWords(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('memory_item').renameTo('memory_item_before').execute()
  await db.schema
    .createTable('memory_space')
    .addColumn('space_id', 'integer', (column) => column.primaryKey().autoIncrement())
    .addColumn('owner', 'text', (column) => column.notNull())
    .addColumn('namespace', 'text', (column) => column.notNull())
    .addUniqueConstraint('memory_space_key', ['owner', 'namespace'])
    .execute()
  await db.schema
    .createTable('memory_item')
    .addColumn('item_id', 'integer', (column) => column.primaryKey().autoIncrement())
    .addColumn('space_id', 'integer', (column) => column.notNull().references('memory_space.space_id'))
    .addColumn('id', 'text', (column) => column.notNull())
    .addColumn('text', 'text', (column) => column.notNull())
    .addColumn('metadata', 'text')
    .addColumn('embedding', 'blob')
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addUniqueConstraint('memory_item_key', ['space_id', 'id'])
    .execute()
  await db.schema
    .createIndex('memory_item_newest')
    .on('memory_item')
    .columns(['space_id', 'created_at', 'item_id'])
    .execute()
  await db.schema.createIndex('memory_item_oldest').on('memory_item').column('created_at').execute()
  await db.schema
    .createTable('memory_word')
    .addColumn('space_id', 'integer', (column) => column.notNull())
    .addColumn('word', 'text', (column) => column.notNull())
    .addColumn('item_id', 'integer', (column) =>
      column.notNull().references('memory_item.item_id').onDelete('cascade')
    )
    .addPrimaryKeyConstraint('memory_word_key', ['space_id', 'word', 'item_id'])
    .modifyEnd(sql`without rowid`)
    .execute()
  await db.schema.createIndex('memory_word_item').on('memory_word').column('item_id').execute()
  await move(db)
  await db.schema.dropTable('memory_item_before').execute()
}

async function move(db: Kysely<Moved>): Promise<void> {
  await sql`
    insert into memory_space (owner, namespace) select distinct owner, namespace from memory_item_before
  `.execute(db)
  await sql`
    insert into memory_item (space_id, id, text, metadata, embedding, created_at)
    select space_id, id, text, metadata, embedding, created_at from memory_item_before
    join memory_space using (owner, namespace) order by created_at
  `.execute(db)
  for (let after = 0; ;) {
    const items = await db
      .selectFrom('memory_item')
      .select(['item_id', 'space_id', 'text', 'embedding'])
      .where('item_id', '>', after)
      .orderBy('item_id')
      .limit(PAGE)
      .execute()
    if (items.length === 0) return
    after = items.at(-1)!.item_id
    for (const { item_id, space_id, text, embedding: json } of items) {
      const rows = [...wordsOf(text)].map((word) => ({ space_id, word, item_id }))
      if (rows.length > 0) await db.insertInto('memory_word').values(rows).execute()
      if (typeof json !== 'string') continue
      // A damaged embedding is dropped.
      const numbers = parseStored<number[]>(json)
      const embedding = numbers === undefined ? null : encodeEmbedding(numbers)
      await db.updateTable('memory_item').set({ embedding }).where('item_id', '=', item_id).execute()
    }
  }
}
