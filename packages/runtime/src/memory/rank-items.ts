import type { MemoryItem } from '@svc/contract'
import { weighWord } from '@svc/contract/stores'
import { stemsOf } from './recall-words.ts'

/** An item with its relevance. */
export interface RankedItem<T extends MemoryItem = MemoryItem> {
  readonly item: T
  readonly score: number
}

/**
 * Ranks items by the words they share with a query, best first. Rare words and short texts score higher; newer items win
 * ties. Items that share no word are dropped.
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
  const matches = texts.reduce((count, { stems }) => count + (stems.has(word) ? 1 : 0), 0)
  return weighWord(texts.length, matches)
}

/** Ranks items by cosine similarity to an embedding, best first; drops those below `minScore`. */
export function rankBySimilarity<T extends MemoryItem>(
  items: readonly T[],
  embedding: readonly number[],
  minScore: number
): RankedItem<T>[] {
  return items
    .map((item) => ({ item, score: item.embedding ? cosine(item.embedding, embedding) : 0 }))
    .filter(({ score }) => score >= minScore)
    .sort((a, b) => b.score - a.score || b.item.createdAt - a.item.createdAt)
}

/** Merges rankings of the same items by reciprocal rank fusion. */
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
