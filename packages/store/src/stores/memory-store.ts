import { defined, type MemoryItem, type MemoryStore, type ScoredMemoryItem } from '@svc/contract'
import {
  candidatesFor,
  codeOfEmbedding,
  cosine,
  isComparable,
  weighWord,
  wordsOf
} from '@svc/contract/stores'
import { sql, type Kysely, type Selectable, type Transaction } from 'kysely'
import type { CodeChange, ItemCodes } from '../backend.ts'
import type { Commit, Write } from '../commit.ts'
import {
  decodeEmbedding,
  encodeEmbedding,
  parseStored,
  toSingles,
  type SkipDamaged
} from '../encoding/values.ts'
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

// All columns of an item but for its embedding and the code of it, which are long.
const COLUMNS = ['item_id', 'space_id', 'id', 'text', 'metadata', 'model', 'created_at'] as const

/** What memories in SQL need. */
export interface MemoryStoreParts {
  readonly db: Kysely<Tables>
  readonly commit: Commit
  readonly codes: ItemCodes
  readonly retention: Pick<Retention, 'memoryMaxItems'>
  readonly skipDamaged: SkipDamaged
  readonly sweep: MemoryStore['sweep']
}

/** Memories of agents, in SQL. */
export function createMemoryStore({
  db,
  commit,
  codes,
  retention: { memoryMaxItems },
  skipDamaged,
  sweep
}: MemoryStoreParts): MemoryStore {
  const spaceOf = async (owner: string, namespace: string) => {
    const found = db.selectFrom('memory_space').select('space_id').where('owner', '=', owner)
    return (await found.where('namespace', '=', namespace).executeTakeFirst())?.space_id
  }
  const readItem = (row: ItemRow, owner: string, namespace: string) => {
    const item = toItem(row, owner, namespace)
    if (item === undefined) skipDamaged('memory_item', String(row.item_id))
    return item
  }
  // In the order of the ids, which are those of the best.
  const readScored = async (
    best: readonly { item_id: number; score: number }[],
    owner: string,
    namespace: string
  ): Promise<ScoredMemoryItem[]> => {
    if (best.length === 0) return []
    const ids = best.map(({ item_id }) => item_id)
    const rows = await db.selectFrom('memory_item').select(COLUMNS).where('item_id', 'in', ids).execute()
    const byId = new Map(rows.map((row) => [row.item_id, readItem(row, owner, namespace)]))
    return best.flatMap(({ item_id, score }) => {
      const item = byId.get(item_id)
      return item === undefined ? [] : [{ ...item, score }]
    })
  }
  // All writes go this way, so that the codes change in the order of the commits.
  const writeItems = async <T>(write: Write<CodeChange & { readonly result: T }>): Promise<T> => {
    const { result, ...change } = await commit.write(write)
    codes.changed(change)
    return result
  }

  return {
    put: (item, fence) =>
      writeItems(async (trx) => {
        await requireEpoch(trx, fence, commit.isShared)
        const { owner, namespace, id, text } = item
        const { space_id } = await trx
          .insertInto('memory_space')
          .values({ owner, namespace })
          .onConflict((conflict) => conflict.columns(['owner', 'namespace']).doUpdateSet({ owner }))
          .returning('space_id')
          .executeTakeFirstOrThrow()
        // A rewritten memory becomes the newest.
        const replaced = await trx
          .deleteFrom('memory_item')
          .where('space_id', '=', space_id)
          .where('id', '=', id)
          .returning(['space_id', 'item_id'])
          .execute()
        const { code, ...embedded } = toEmbedded(item)
        const { item_id } = await trx
          .insertInto('memory_item')
          .values({ space_id, ...toRow(item), ...embedded, code: code && codes.toColumn(code) })
          .returning('item_id')
          .executeTakeFirstOrThrow()
        await indexWords(trx, space_id, item_id, text)
        const surplus = newest(trx, space_id).select('item_id').offset(memoryMaxItems).limit(MOST_REMOVED)
        const removal = trx.deleteFrom('memory_item').where('item_id', 'in', surplus)
        const removed = await removal.returning(['space_id', 'item_id']).execute()
        const { model } = embedded
        return {
          result: undefined,
          added: code === null || model === null ? [] : [{ space_id, item_id, model, code }],
          removed: [...replaced, ...removed]
        }
      }),
    async search(owner, namespace, query, limit) {
      const spaceId = await spaceOf(owner, namespace)
      if (spaceId === undefined) return []
      return await readScored(await findByWords(db, spaceId, query, limit), owner, namespace)
    },
    async similar(owner, namespace, { embedding, model, limit, minScore }) {
      const spaceId = await spaceOf(owner, namespace)
      const code = codeOfEmbedding(embedding)
      if (spaceId === undefined || code === undefined) return []
      const count = candidatesFor(limit)
      const ids = await codes.nearest(spaceId, model, code, count)
      if (ids.length === 0) return []
      const rows = await db
        .selectFrom('memory_item')
        .select(['item_id', 'embedding', 'created_at'])
        // One statement for any number of candidates; no item has this id.
        .where('item_id', 'in', [...ids, ...Array.from({ length: count - ids.length }, () => 0)])
        .where('model', '=', model)
        .execute()
      const best = rows
        .flatMap(({ embedding: bytes, ...row }) => {
          const singles = toSingles(bytes)
          const score = singles === undefined ? -Infinity : cosine(singles, embedding)
          return score >= minScore ? [{ ...row, score }] : []
        })
        .sort((a, b) => b.score - a.score || b.created_at - a.created_at || b.item_id - a.item_id)
      return await readScored(best.slice(0, limit), owner, namespace)
    },
    async unembedded(owner, namespace, model, limit) {
      const spaceId = await spaceOf(owner, namespace)
      if (spaceId === undefined) return []
      const rows = await findUnembedded(db, spaceId, model, limit)
      return rows.flatMap((row) => readItem(row, owner, namespace) ?? [])
    },
    embed: ({ owner, namespace, id, text, embedding, model }, fence) =>
      writeItems(async (trx) => {
        await requireEpoch(trx, fence, commit.isShared)
        const { code, ...embedded } = toEmbedded({ embedding, model })
        const row = await trx
          .updateTable('memory_item')
          .set({ ...embedded, code: code && codes.toColumn(code) })
          .where('space_id', '=', ({ selectFrom }) =>
            selectFrom('memory_space')
              .select('space_id')
              .where('owner', '=', owner)
              .where('namespace', '=', namespace)
          )
          .where('id', '=', id)
          .where('text', '=', text)
          .returning(['space_id', 'item_id'])
          .executeTakeFirst()
        if (row === undefined) return { result: false, removed: [] }
        return { result: true, removed: [row], added: code === null ? [] : [{ ...row, model, code }] }
      }),
    async list(owner, namespace, limit) {
      const spaceId = await spaceOf(owner, namespace)
      if (spaceId === undefined) return []
      const rows = await newest(db, spaceId)
        .select([...COLUMNS, 'embedding'])
        .limit(limit)
        .execute()
      return rows.flatMap((row) => readItem(row, owner, namespace) ?? [])
    },
    async remove(owner, namespace, id) {
      const spaceId = await spaceOf(owner, namespace)
      if (spaceId === undefined) return false
      return await writeItems(async (trx) => {
        const removal = trx.deleteFrom('memory_item').where('space_id', '=', spaceId).where('id', '=', id)
        const removed = await removal.returning(['space_id', 'item_id']).execute()
        return { result: removed.length === 1, removed }
      })
    },
    removeSession: (owner, sessionId, mayGo) =>
      writeItems(async (trx) => {
        // Apart, so that the index of sessions is used: callers without credentials are one owner, of many spaces.
        const items = await trx
          .selectFrom('memory_item')
          .select(['item_id', 'space_id', 'metadata'])
          .where(isOfSession('session_id', sessionId))
          .execute()
        if (items.length === 0) return { result: 0, removed: [] }
        const spaces = await trx
          .selectFrom('memory_space')
          .select(['space_id', 'namespace'])
          .where('owner', '=', owner)
          .where('space_id', 'in', [...new Set(items.map(({ space_id }) => space_id))])
          .execute()
        const names = new Map(spaces.map(({ space_id, namespace }) => [space_id, namespace]))
        const removed = items.filter(({ space_id, metadata: json }) => {
          const namespace = names.get(space_id)
          if (namespace === undefined) return false
          const metadata = json === null ? null : parseStored<Record<string, unknown>>(json)
          return mayGo({ namespace, ...(metadata && { metadata }) })
        })
        await removeItems(trx, removed)
        // Their names may have the id of the session.
        await removeEmptySpaces(trx, { spaceIds: [...names.keys()] })
        return { result: removed.length, removed }
      }),
    removeOwner: (owner, limit) =>
      writeItems(async (trx) => {
        const removed = await trx
          .selectFrom('memory_item')
          .innerJoin('memory_space', 'memory_space.space_id', 'memory_item.space_id')
          .select(['memory_item.space_id', 'item_id'])
          .where('owner', '=', owner)
          .limit(limit)
          .execute()
        await removeItems(trx, removed)
        if (removed.length < limit) await removeEmptySpaces(trx, { owner })
        return { result: removed.length, removed }
      }),
    sweep
  }
}

async function removeItems(db: Kysely<Tables>, items: readonly { item_id: number }[]): Promise<void> {
  for (let from = 0; from < items.length; from += MOST_REMOVED) {
    const batch = items.slice(from, from + MOST_REMOVED).map(({ item_id }) => item_id)
    await db.deleteFrom('memory_item').where('item_id', 'in', batch).execute()
  }
}

const newest = (db: Kysely<Tables>, spaceId: number) =>
  db
    .selectFrom('memory_item')
    .where('space_id', '=', spaceId)
    .orderBy('created_at', 'desc')
    .orderBy('item_id', 'desc')

// In the order of an index, which has the items of each model in the order of writing.
async function findUnembedded(db: Kysely<Tables>, spaceId: number, model: string, limit: number) {
  const items = db.selectFrom('memory_item').select(COLUMNS).where('space_id', '=', spaceId).limit(limit)
  const others = items.orderBy('model').orderBy('item_id')
  // Apart, since no index has what is not equal.
  const parts = [
    items.where('model', 'is', null).orderBy('item_id'),
    others.where('model', '<', model),
    others.where('model', '>', model)
  ].map((part, index) => db.selectFrom(part.as(`page${index}`)).selectAll())
  return await parts
    .reduce((all, part) => all.unionAll(part))
    .limit(limit)
    .execute()
}

function toRow({ id, text, metadata, createdAt }: MemoryItem) {
  const sessionId: unknown = metadata?.['sessionId']
  return {
    id,
    text,
    metadata: metadata === undefined ? null : JSON.stringify(metadata),
    session_id: typeof sessionId === 'string' ? sessionId : null,
    created_at: createdAt
  }
}

function toEmbedded({ embedding, model = null }: Pick<MemoryItem, 'embedding'> & { model?: string | null }) {
  if (embedding === undefined || !isComparable(embedding)) return { embedding: null, model, code: null }
  const code = model === null ? null : codeOfEmbedding(embedding)!
  return { embedding: encodeEmbedding(embedding), model, code }
}

type ItemRow = Pick<Selectable<Tables['memory_item']>, (typeof COLUMNS)[number]> &
  Partial<Pick<Selectable<Tables['memory_item']>, 'embedding'>>

function toItem(row: ItemRow, owner: string, namespace: string): MemoryItem | undefined {
  const metadata = row.metadata === null ? null : parseStored<Record<string, unknown>>(row.metadata)
  const embedding = row.embedding ? decodeEmbedding(row.embedding) : null
  if (metadata === undefined || embedding === undefined) return undefined
  return {
    owner,
    namespace,
    id: row.id,
    text: row.text,
    createdAt: row.created_at,
    ...(metadata && { metadata }),
    ...(embedding && { embedding }),
    ...defined({ model: row.model ?? undefined })
  }
}
