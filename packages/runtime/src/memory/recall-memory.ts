import { createHash } from 'node:crypto'
import type { Awaitable, MemoryItem } from '@svc/contract'
import { RUN_ERR_BAD_AGENT } from '../errors.ts'
import { hasMethods } from '../checks/option-errors.ts'
import { embed, type EmbeddingModel } from './embed.ts'
import { requireMemoryOptions } from './memory-options.ts'
import type { Memory, MemoryContext, MemoryTurn } from './memory.ts'
import { fuseRankings, rankBySimilarity, rankByWords, type RankedItem } from './rank-items.ts'
import { queryWords } from './recall-words.ts'
import { shorten, takeWithin, toTurnText } from './turn-text.ts'

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
  /** An AI SDK embedding model; adds semantic search to the search by words. */
  embedding?: EmbeddingModel
  /** Number of newest items to compare by embedding; default 500. */
  maxCompared?: number
  /** Minimum cosine similarity; default 0.3. */
  minSimilarity?: number
}

const MAX_CANDIDATES = 100
const MAX_FACTS = 20
const MAX_CHARACTERS = 4_000

/** Remembers all sessions of an owner with this agent, and recalls what is relevant to the input. @throws RUN_ERR_BAD_AGENT */
export function recallMemory(options: RecallMemoryOptions = {}): Memory {
  requireMemoryOptions('recallMemory', options)
  const {
    extract,
    limit = 5,
    maxCharacters = 4_000,
    embedding,
    maxCompared = 500,
    minSimilarity = 0.3
  } = options
  if (embedding !== undefined && !hasMethods(embedding, ['doEmbed']))
    throw new RUN_ERR_BAD_AGENT('recallMemory: embedding: not an embedding model of the AI SDK')

  const findSimilar = async (context: MemoryContext, input: string): Promise<RankedItem[]> => {
    if (embedding === undefined) return []
    const [query] = await embed(embedding, [shorten(input, MAX_CHARACTERS)], context.signal)
    const newest = await context.items.list(context.owner, context.namespace, maxCompared)
    return rankBySimilarity(newest, query!, minSimilarity)
  }

  return {
    async retrieve(context, input) {
      const [byWords, bySimilarity] = await Promise.all([
        findItems(context, input),
        findSimilar(context, input)
      ])
      const ranked = embedding === undefined ? byWords : fuseRankings([byWords, bySimilarity])
      const texts = [...new Set(ranked.map(({ item }) => item.text))].slice(0, limit)
      const taken = takeWithin(texts, maxCharacters)
      if (taken.length === 0) return undefined
      return `Possibly relevant from earlier conversations with this user:\n${taken.map((text) => `- ${text}`).join('\n')}`
    },
    async store(context, turn) {
      const facts = extract === undefined ? [toTurnText(turn)] : await extract(turn, context)
      const texts = facts.slice(0, MAX_FACTS).map((fact) => shorten(fact.trim(), MAX_CHARACTERS))
      const kept = texts.filter((text) => text !== '')
      if (kept.length === 0) return []
      const embeddings = embedding === undefined ? [] : await embed(embedding, kept, context.signal)
      for (const [index, text] of kept.entries())
        await context.items.put(toItem(context, text, embeddings[index]))
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

function toItem(
  { owner, namespace, runId, sessionId }: MemoryContext,
  text: string,
  embedding: readonly number[] | undefined
): MemoryItem {
  const item = {
    id: idOf(text),
    owner,
    namespace,
    text,
    metadata: { runId, sessionId },
    createdAt: Date.now()
  }
  return embedding === undefined ? item : { ...item, embedding }
}

// By content, so that a repeated fact is stored once.
const idOf = (text: string) => createHash('sha256').update(text).digest('base64url').slice(0, 24)
