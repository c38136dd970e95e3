import { weighWord, type MemoryItem } from '@svc/registry'
import { stemsOf } from './recall-words.ts'

/** An item with how well it fits. */
export interface RankedItem<T extends MemoryItem = MemoryItem> {
  readonly item: T
  readonly score: number
}

/**
 * Orders items by the words that they share with a query, best first: a rare word counts more than a common one, a short
 * text more than a long one, and of two that fit alike the newer is first. What shares none is dropped.
 */
export function rankByWords<T extends MemoryItem>(
  items: readonly T[],
  words: ReadonlySet<string>
): RankedItem<T>[] {
  const texts = items.map((item) => ({ item, stems: stemsOf(item.text) }))
  const weights = new Map([...words].map((word) => [word, weigh(word, texts)]))
  return texts
    .map(({ item, stems }) => {
      let score = 0
      for (const [word, weight] of weights) if (stems.has(word)) score += weight
      return { item, score: score / (1 + stems.size / 200) }
    })
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score || b.item.createdAt - a.item.createdAt)
}

function weigh(word: string, texts: readonly { stems: ReadonlySet<string> }[]): number {
  const having = texts.reduce((count, { stems }) => count + (stems.has(word) ? 1 : 0), 0)
  return weighWord(texts.length, having)
}

/** Orders items by how like their embeddings are to one, best first; what is not like it at all is dropped. */
export function rankByLikeness<T extends MemoryItem>(
  items: readonly T[],
  embedding: readonly number[],
  least: number
): RankedItem<T>[] {
  return items
    .map((item) => ({ item, score: item.embedding ? cosine(item.embedding, embedding) : 0 }))
    .filter(({ score }) => score >= least)
    .sort((a, b) => b.score - a.score || b.item.createdAt - a.item.createdAt)
}

/** Joins rankings of the same items into one, by reciprocal ranks. */
export function fuseRankings(rankings: readonly (readonly RankedItem[])[]): RankedItem[] {
  const fused = new Map<string, { item: MemoryItem; score: number }>()
  for (const ranking of rankings)
    for (const [index, { item }] of ranking.entries()) {
      const score = (fused.get(item.id)?.score ?? 0) + 1 / (60 + index)
      fused.set(item.id, { item, score })
    }
  return [...fused.values()].sort((a, b) => b.score - a.score)
}

function cosine(a: readonly number[], b: readonly number[]): number {
  if (a.length !== b.length) return 0
  let [dot, ofA, ofB] = [0, 0, 0]
  for (let i = 0; i < a.length; i++) {
    dot += a[i]! * b[i]!
    ofA += a[i]! * a[i]!
    ofB += b[i]! * b[i]!
  }
  return dot / (Math.sqrt(ofA * ofB) || 1)
}
