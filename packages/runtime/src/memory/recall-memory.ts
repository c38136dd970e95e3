import { createHash } from 'node:crypto'
import { defined, type Awaitable, type MemoryItem } from '@svc/contract'
import { cosine, isComparable, weighWord } from '@svc/contract/stores'
import { hasMethods } from '../checks/option-errors.ts'
import { RUN_ERR_BAD_AGENT } from '../errors.ts'
import { embed, MAX_EMBEDDED, nameOfEmbedding, type EmbeddingModel } from './embedding-model.ts'
import {
  requireMemoryOptions,
  shorten,
  takeWithin,
  toTurnText,
  type Memory,
  type MemoryContext,
  type MemoryTurn
} from './memory.ts'
import { queryWords, stemsOf } from './recall-words.ts'
import { EmbeddingRenewal } from './renew-embeddings.ts'
import { settleLater } from './run-memory.ts'

/** An item with its relevance. */
export interface RankedItem<T extends MemoryItem = MemoryItem> {
  readonly item: T
  readonly score: number
}

/**
 * Ranks items by the words they share with a query, best first. Rare words and short texts score higher; newer items win
 * ties. Items that share no word are dropped.
 */
function rankByWords<T extends MemoryItem>(items: readonly T[], words: ReadonlySet<string>): RankedItem<T>[] {
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
function rankBySimilarity<T extends MemoryItem>(
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
function fuseRankings(rankings: readonly (readonly RankedItem[])[]): RankedItem[] {
  const fused = new Map<string, { item: MemoryItem; score: number }>()
  for (const ranking of rankings)
    for (const [index, { item }] of ranking.entries()) {
      const score = (fused.get(item.id)?.score ?? 0) + 1 / (60 + index)
      fused.set(item.id, { item, score })
    }
  return [...fused.values()].sort((a, b) => b.score - a.score)
}

/** Extracts from a turn what is worth remembering, as self-contained texts. */
export type ExtractFacts = (turn: MemoryTurn, context: MemoryContext) => Awaitable<readonly string[]>

/** Options of a recall memory. */
export interface RecallMemoryOptions {
  /** Extracts the texts to store; default: the whole turn. See `extractFacts`. */
  extract?: ExtractFacts
  /** Maximum number of items per prompt; default 5. */
  limit?: number
  /** Maximum length of the text for the prompt; default 4,000. */
  maxCharacters?: number
  /**
   * An AI SDK embedding model; adds semantic search over all items to the search by words. After it was changed, each stored turn embeds
   * up to 100 older items again.
   */
  embedding?: EmbeddingModel
  /** Minimum cosine similarity; default 0.3. */
  minSimilarity?: number
}

const MAX_CANDIDATES = 100
// Items compared here, if the store does not search by similarity.
const MAX_COMPARED = 500
const MAX_FACTS = 20

/** Remembers all sessions of an owner with this agent, and recalls what is relevant to the input. @throws RUN_ERR_BAD_AGENT */
export function recallMemory(options: RecallMemoryOptions = {}): Memory {
  requireMemoryOptions('recallMemory', options)
  const { extract, limit = 5, maxCharacters = 4_000, embedding, minSimilarity = 0.3 } = options
  if (embedding !== undefined && !hasMethods(embedding, ['doEmbed']))
    throw new RUN_ERR_BAD_AGENT('recallMemory: embedding: not an embedding model of the AI SDK')

  const renewal = embedding && new EmbeddingRenewal(embedding)

  const findSimilar = async (context: MemoryContext, input: string): Promise<RankedItem[]> => {
    if (embedding === undefined) return []
    const { owner, namespace, items, signal } = context
    const [query] = await embed(embedding, [shorten(input, MAX_EMBEDDED)], signal)
    if (items.similar === undefined) {
      const newest = await items.list(owner, namespace, MAX_COMPARED)
      return rankBySimilarity(newest, query!, minSimilarity)
    }
    const found = await items.similar(owner, namespace, {
      embedding: query!,
      model: nameOfEmbedding(embedding, query!),
      // More than are recalled, since an item gains if words find it too.
      limit: limit * 2,
      minScore: minSimilarity
    })
    return found.map((item) => ({ item, score: item.score }))
  }

  return {
    async retrieve(context, input) {
      const { sessionId, events } = context
      const begunAt = performance.now()
      const [byWords, bySimilarity] = await Promise.all([
        findItems(context, input),
        findSimilar(context, input)
      ])
      const ranked = embedding === undefined ? byWords : fuseRankings([byWords, bySimilarity])
      const texts = [...new Set(ranked.map(({ item }) => item.text))].slice(0, limit)
      const taken = takeWithin(texts, maxCharacters)
      const durationMs = performance.now() - begunAt
      events.emit('memory.recalled', () => ({ sessionId, items: taken.length, durationMs }))
      if (taken.length === 0) return undefined
      return `Possibly relevant from earlier conversations with this user:\n${taken.map((text) => `- ${text}`).join('\n')}`
    },
    async store(context, turn) {
      const facts = extract === undefined ? [toTurnText(turn)] : await extract(turn, context)
      const texts = facts.slice(0, MAX_FACTS).map((fact) => shorten(fact.trim(), MAX_EMBEDDED))
      const kept = texts.filter((text) => text !== '')
      if (kept.length === 0) return []
      const embeddings = embedding === undefined ? [] : await embed(embedding, kept, context.signal)
      const names = embeddings.map((each) => nameOfEmbedding(embedding!, each))
      for (const [index, text] of kept.entries())
        await context.items.put({
          ...toItem(context, text),
          ...defined({ embedding: embeddings[index], model: names[index] })
        })
      const current = names.find((_, index) => isComparable(embeddings[index]!))
      if (renewal && current !== undefined) settleLater(renewal.renew(context, current))
      return kept.map(idOf)
    }
  }
}

/** Finds items that share words with a text, best first. The store matches whole words; ranking uses stems. */
async function findItems(context: MemoryContext, text: string): Promise<RankedItem[]> {
  const { searched, ranked } = queryWords(text)
  if (searched.size === 0) return []
  const words = [...searched.values()].flat().join(' ')
  const found = await context.items.search(context.owner, context.namespace, words, MAX_CANDIDATES)
  return rankByWords(found, ranked)
}

function toItem({ owner, namespace, runId, sessionId }: MemoryContext, text: string): MemoryItem {
  return {
    id: idOf(text),
    owner,
    namespace,
    text,
    metadata: { runId, sessionId },
    createdAt: Date.now()
  }
}

// By content, so that a repeated fact is stored once.
const idOf = (text: string) => createHash('sha256').update(text).digest('base64url').slice(0, 24)
