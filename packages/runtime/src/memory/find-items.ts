import type { MemoryContext } from './memory.ts'
import { queryWords } from './recall-words.ts'
import { rankByWords, type RankedItem } from './rank-items.ts'

const CANDIDATES = 100

/** The items of an owner that share words with a text, best first: a store knows whole words, this their stems. */
export async function findItems(context: MemoryContext, text: string): Promise<RankedItem[]> {
  const { searched, ranked } = queryWords(text)
  if (searched.size === 0) return []
  const words = [...searched.values()].flat().join(' ')
  const found = await context.items.search(context.owner, context.namespace, words, CANDIDATES)
  return rankByWords(found, ranked)
}
