import type { ScoredMemoryItem } from '@svc/registry'
import type { MemoryContext } from './memory.ts'
import { queryWords, stemsOf } from './recall-words.ts'
import { rankByWords, type RankedItem } from './rank-items.ts'

const CANDIDATES = 100

/**
 * The items of an owner that share words with a text, best first. A store may look at the newest items only where many
 * share a word: a word that no candidate has is asked for once more, alone.
 */
export async function findItems(context: MemoryContext, text: string): Promise<RankedItem[]> {
  const { searched, ranked } = queryWords(text)
  if (searched.size === 0) return []
  const search = (variants: Iterable<readonly string[]>) =>
    context.items.search(context.owner, context.namespace, [...variants].flat().join(' '), CANDIDATES)

  const found = new Map<string, ScoredMemoryItem>()
  for (const item of await search(searched.values())) found.set(item.id, item)
  if (found.size === CANDIDATES && searched.size > 1) {
    const seen = new Set([...found.values()].flatMap((item) => [...stemsOf(item.text)]))
    const unseen = [...searched].filter(([stem]) => !seen.has(stem)).map(([, variants]) => variants)
    if (unseen.length > 0) for (const item of await search(unseen)) found.set(item.id, item)
  }
  return rankByWords([...found.values()], ranked)
}
