import { scoreWords, wordsOf, type MemoryItem, type MemoryStore } from '@svc/registry'
import type { Kysely } from 'kysely'
import type { GroupCommit } from './group-commit.ts'
import type { Tables } from './tables.ts'

// More items than this that share a word with a query are not scored; the newest are.
const MAX_CANDIDATES = 1_000
const MAX_WORDS = 32

/** What agents remember, on SQL. */
export function createMemoryStore(db: Kysely<Tables>, commit: GroupCommit): MemoryStore {
  const of = (owner: string, namespace: string) =>
    db
      .selectFrom('memory_item')
      .selectAll()
      .where('owner', '=', owner)
      .where('namespace', '=', namespace)
      .orderBy('created_at', 'desc')

  return {
    put: (item) =>
      commit.write(async (trx) => {
        const row = toRow(item)
        await trx
          .insertInto('memory_item')
          .values(row)
          .onConflict((conflict) => conflict.columns(['owner', 'namespace', 'id']).doUpdateSet(row))
          .execute()
      }),
    async search(owner, namespace, query, limit) {
      const words = wordsOf(query)
      if (words.size === 0) return []
      const patterns = [...words].slice(0, MAX_WORDS).map((word) => `% ${word} %`)
      const rows = await of(owner, namespace)
        .where((is) => is.or(patterns.map((pattern) => is('words', 'like', pattern))))
        .limit(MAX_CANDIDATES)
        .execute()
      return rows
        .map((row) => ({ ...toItem(row), score: scoreWords(row.text, words) }))
        .filter(({ score }) => score > 0)
        .sort((a, b) => b.score - a.score || b.createdAt - a.createdAt)
        .slice(0, limit)
    },
    async list(owner, namespace, limit) {
      return (await of(owner, namespace).limit(limit).execute()).map(toItem)
    },
    remove: (owner, namespace, id) =>
      commit.write(async (trx) => {
        const { numDeletedRows } = await trx
          .deleteFrom('memory_item')
          .where('owner', '=', owner)
          .where('namespace', '=', namespace)
          .where('id', '=', id)
          .executeTakeFirst()
        return numDeletedRows === 1n
      })
  }
}

function toRow(item: MemoryItem): Tables['memory_item'] {
  const { owner, namespace, id, text, metadata, embedding, createdAt } = item
  return {
    owner,
    namespace,
    id,
    text,
    words: ` ${[...wordsOf(text)].join('  ')} `,
    metadata: metadata === undefined ? null : JSON.stringify(metadata),
    embedding: embedding === undefined ? null : JSON.stringify(embedding),
    created_at: createdAt
  }
}

function toItem(row: Tables['memory_item']): MemoryItem {
  return {
    owner: row.owner,
    namespace: row.namespace,
    id: row.id,
    text: row.text,
    createdAt: row.created_at,
    ...(row.metadata !== null && { metadata: JSON.parse(row.metadata) as Record<string, unknown> }),
    ...(row.embedding !== null && { embedding: JSON.parse(row.embedding) as number[] })
  }
}
