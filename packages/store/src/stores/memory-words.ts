import { weighWord, wordsOf } from '@svc/contract/stores'
import { sql, type Kysely, type Transaction } from 'kysely'
import type { Tables } from '../tables.ts'

// A few sizes only, so that the statements stay prepared.
const ROWS_AT_ONCE = [64, 16, 4, 2, 1]
const MOST_WORDS = 32
// Postings read per search; the rarest words come first.
const MOST_PLACES = 5_000

/** Indexes the words of an item. */
export async function indexWords(
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
export async function findByWords(
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
