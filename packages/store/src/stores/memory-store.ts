import type { MemoryItem, MemoryStore } from '@svc/contract'
import { weighWord, wordsOf } from '@svc/contract/stores'
import { sql, type Kysely, type Selectable, type Transaction } from 'kysely'
import type { Commit } from '../commit.ts'
import { decodeEmbedding, encodeEmbedding, parseStored, type SkipDamaged } from '../encoding/values.ts'
import { removeEmptySpaces } from '../maintenance/sweep-memories.ts'
import type { Retention } from '../options.ts'
import { requireEpoch } from '../rows/run-rows.ts'
import { isOfSession } from '../rows/session-rows.ts'
import type { Tables } from '../tables.ts'

// A few sizes only, so that the statements stay prepared.
const ROWS_AT_ONCE = [64, 16, 4, 2, 1]
const MOST_WORDS = 32
// Postings read per search; the rarest words come first.
const MOST_PLACES = 5_000

/** Indexes the words of an item. */
async function indexWords(
  trx: Transaction<Tables>,
  space_id: number,
  item_id: number,
  text: string
): Promise<void> {
  const rows = [...wordsOf(text)].map((word) => ({ space_id, word, item_id }))
  let written = 0
  for (const size of ROWS_AT_ONCE)
    for (; rows.length - written >= size; written += size)
      await trx
        .insertInto('memory_word')
        .values(rows.slice(written, written + size))
        .execute()
}

/** Scores the items of a space that share words with a query; best first, ties newest first. */
async function findByWords(
  db: Kysely<Tables>,
  spaceId: number,
  query: string,
  limit: number
): Promise<{ item_id: number; score: number }[]> {
  const words = [...wordsOf(query)].slice(0, MOST_WORDS)
  const weights = await weigh(db, spaceId, words)
  if (weights.length === 0) return []
  const score = sql.join(
    padded(weights, { word: '', weight: 0 }).map(
      ({ word, weight }) => sql`when ${word} then cast(${weight} as numeric)`
    ),
    sql` `
  )
  return await placesOf(
    db,
    spaceId,
    weights.map(({ word }) => word)
  )
    .select(['item_id', sql<number>`sum(case word ${score} else 0 end)`.as('score')])
    .groupBy('item_id')
    .orderBy('score', 'desc')
    .orderBy('item_id', 'desc')
    .limit(limit)
    .execute()
}

async function weigh(db: Kysely<Tables>, spaceId: number, words: readonly string[]) {
  if (words.length === 0) return []
  const found = await placesOf(db, spaceId, words)
    .select(({ fn }) => ['word', fn.countAll<number>().as('having')])
    .groupBy('word')
    .orderBy('having')
    .execute()
  const { items } = await db
    .selectFrom('memory_item')
    .select(({ fn }) => fn.countAll<number>().as('items'))
    .where('space_id', '=', spaceId)
    .executeTakeFirstOrThrow()
  let places = 0
  return found
    .filter(({ having }, index) => (places += having) <= MOST_PLACES || index === 0)
    .map(({ word, having }) => ({ word, weight: weighWord(items, having) }))
}

const placesOf = (db: Kysely<Tables>, spaceId: number, words: readonly string[]) =>
  db.selectFrom('memory_word').where('space_id', '=', spaceId).where('word', 'in', padded(words, ''))

// Padding gives one statement for any number of words; no real word is empty.
function padded<T>(items: readonly T[], filler: T): T[] {
  return [...items, ...Array.from({ length: MOST_WORDS - items.length }, () => filler)]
}

// Surplus items removed per write; after a limit was lowered it takes several writes to reach it.
const MOST_REMOVED = 100

/** Memories of agents, in SQL. */
export function createMemoryStore(
  db: Kysely<Tables>,
  commit: Commit,
  { memoryMaxItems }: Pick<Retention, 'memoryMaxItems'>,
  skipDamaged: SkipDamaged,
  sweep: MemoryStore['sweep']
): MemoryStore {
  const spaceOf = async (owner: string, namespace: string) => {
    const found = db.selectFrom('memory_space').select('space_id').where('owner', '=', owner)
    return (await found.where('namespace', '=', namespace).executeTakeFirst())?.space_id
  }
  const readItem = (row: Selectable<Tables['memory_item']>, owner: string, namespace: string) => {
    const item = toItem(row, owner, namespace)
    if (item === undefined) skipDamaged('memory_item', String(row.item_id))
    return item
  }

  return {
    put: (item, fence) =>
      commit.write(async (trx) => {
        await requireEpoch(trx, fence, commit.isShared)
        const { owner, namespace, id, text } = item
        const { space_id } = await trx
          .insertInto('memory_space')
          .values({ owner, namespace })
          .onConflict((conflict) => conflict.columns(['owner', 'namespace']).doUpdateSet({ owner }))
          .returning('space_id')
          .executeTakeFirstOrThrow()
        // A rewritten memory becomes the newest.
        await trx.deleteFrom('memory_item').where('space_id', '=', space_id).where('id', '=', id).execute()
        const { item_id } = await trx
          .insertInto('memory_item')
          .values({ space_id, ...toRow(item) })
          .returning('item_id')
          .executeTakeFirstOrThrow()
        await indexWords(trx, space_id, item_id, text)
        const surplus = newest(trx, space_id).select('item_id').offset(memoryMaxItems).limit(MOST_REMOVED)
        await trx.deleteFrom('memory_item').where('item_id', 'in', surplus).execute()
      }),
    async search(owner, namespace, query, limit) {
      const spaceId = await spaceOf(owner, namespace)
      if (spaceId === undefined) return []
      const found = await findByWords(db, spaceId, query, limit)
      if (found.length === 0) return []
      const ids = found.map(({ item_id }) => item_id)
      const rows = await db.selectFrom('memory_item').selectAll().where('item_id', 'in', ids).execute()
      const byId = new Map(rows.map((row) => [row.item_id, readItem(row, owner, namespace)]))
      return found.flatMap(({ item_id, score }) => {
        const item = byId.get(item_id)
        return item === undefined ? [] : [{ ...item, score }]
      })
    },
    async list(owner, namespace, limit) {
      const spaceId = await spaceOf(owner, namespace)
      if (spaceId === undefined) return []
      const rows = await newest(db, spaceId).selectAll().limit(limit).execute()
      return rows.flatMap((row) => readItem(row, owner, namespace) ?? [])
    },
    async remove(owner, namespace, id) {
      const spaceId = await spaceOf(owner, namespace)
      if (spaceId === undefined) return false
      return await commit.write(async (trx) => {
        const removal = trx.deleteFrom('memory_item').where('space_id', '=', spaceId).where('id', '=', id)
        return (await removal.executeTakeFirst()).numDeletedRows === 1n
      })
    },
    removeSession: (owner, sessionId, mayGo) =>
      commit.write(async (trx) => {
        // Apart, so that the index of sessions is used: callers without credentials are one owner, of many spaces.
        const items = await trx
          .selectFrom('memory_item')
          .select(['item_id', 'space_id', 'metadata'])
          .where(isOfSession('session_id', sessionId))
          .execute()
        if (items.length === 0) return 0
        const spaces = await trx
          .selectFrom('memory_space')
          .select(['space_id', 'namespace'])
          .where('owner', '=', owner)
          .where('space_id', 'in', [...new Set(items.map(({ space_id }) => space_id))])
          .execute()
        const names = new Map(spaces.map(({ space_id, namespace }) => [space_id, namespace]))
        const ids = items.flatMap(({ item_id, space_id, metadata: json }) => {
          const namespace = names.get(space_id)
          if (namespace === undefined) return []
          const metadata = json === null ? null : parseStored<Record<string, unknown>>(json)
          return mayGo({ namespace, ...(metadata && { metadata }) }) ? [item_id] : []
        })
        await removeItems(trx, ids)
        // Their names may have the id of the session.
        await removeEmptySpaces(trx, { spaceIds: [...names.keys()] })
        return ids.length
      }),
    removeOwner: (owner, limit) =>
      commit.write(async (trx) => {
        const items = await trx
          .selectFrom('memory_item')
          .innerJoin('memory_space', 'memory_space.space_id', 'memory_item.space_id')
          .select('item_id')
          .where('owner', '=', owner)
          .limit(limit)
          .execute()
        const ids = items.map(({ item_id }) => item_id)
        await removeItems(trx, ids)
        if (ids.length < limit) await removeEmptySpaces(trx, { owner })
        return ids.length
      }),
    sweep
  }
}

async function removeItems(db: Kysely<Tables>, ids: readonly number[]): Promise<void> {
  for (let from = 0; from < ids.length; from += MOST_REMOVED) {
    const batch = ids.slice(from, from + MOST_REMOVED)
    await db.deleteFrom('memory_item').where('item_id', 'in', batch).execute()
  }
}

const newest = (db: Kysely<Tables>, spaceId: number) =>
  db
    .selectFrom('memory_item')
    .where('space_id', '=', spaceId)
    .orderBy('created_at', 'desc')
    .orderBy('item_id', 'desc')

function toRow({ id, text, metadata, embedding, createdAt }: MemoryItem) {
  const sessionId: unknown = metadata?.['sessionId']
  return {
    id,
    text,
    metadata: metadata === undefined ? null : JSON.stringify(metadata),
    session_id: typeof sessionId === 'string' ? sessionId : null,
    embedding: embedding === undefined ? null : encodeEmbedding(embedding),
    created_at: createdAt
  }
}

function toItem(
  row: Selectable<Tables['memory_item']>,
  owner: string,
  namespace: string
): MemoryItem | undefined {
  const metadata = row.metadata === null ? null : parseStored<Record<string, unknown>>(row.metadata)
  const embedding = row.embedding === null ? null : decodeEmbedding(row.embedding)
  if (metadata === undefined || embedding === undefined) return undefined
  return {
    owner,
    namespace,
    id: row.id,
    text: row.text,
    createdAt: row.created_at,
    ...(metadata && { metadata }),
    ...(embedding && { embedding })
  }
}
