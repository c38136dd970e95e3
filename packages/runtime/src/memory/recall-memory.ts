import { createHash } from 'node:crypto'
import type { Awaitable, MemoryItem } from '@svc/registry'
import { RUN_ERR_BAD_AGENT } from '../errors.ts'
import { hasMethods } from '../checks/option-errors.ts'
import { embed, type EmbeddingModel } from './embed.ts'
import { requireMemoryOptions } from './memory-options.ts'
import type { Memory, MemoryContext, MemoryTurn } from './memory.ts'
import { fuseRankings, rankByLikeness, rankByWords, type RankedItem } from './rank-items.ts'
import { queryWords } from './recall-words.ts'
import { shorten, takeWithin, toTurnText } from './turn-text.ts'

/** What of a turn is worth remembering: texts that say it by themselves. */
export type ExtractFacts = (turn: MemoryTurn, context: MemoryContext) => Awaitable<readonly string[]>

/** Options of a recall memory. */
export interface RecallMemoryOptions {
  /** What is kept of a turn; default: the turn itself. See `extractFacts`. */
  extract?: ExtractFacts
  /** Items of one prompt, at most; default 5. */
  limit?: number
  /** Of the text for the prompt; default 4,000. */
  maxCharacters?: number
  /** Finds by likeness too, not by words only: an embedding model of the AI SDK. */
  embedding?: EmbeddingModel
  /** Newest items that are compared by likeness; default 500. */
  maxCompared?: number
  /** How like an item has to be, as a cosine; default 0.3. */
  minLikeness?: number
}

const MOST_CANDIDATES = 100
const MOST_FACTS = 20
const MOST_CHARACTERS = 4_000

/** Remembers what was said in every session of an owner with this agent, and recalls what fits the input. @throws RUN_ERR_BAD_AGENT */
export function recallMemory(options: RecallMemoryOptions = {}): Memory {
  requireMemoryOptions('recallMemory', options)
  const {
    extract,
    limit = 5,
    maxCharacters = 4_000,
    embedding,
    maxCompared = 500,
    minLikeness = 0.3
  } = options
  if (embedding !== undefined && !hasMethods(embedding, ['doEmbed']))
    throw new RUN_ERR_BAD_AGENT('recallMemory: embedding: no embedding model of the AI SDK')

  const findAlike = async (context: MemoryContext, input: string): Promise<RankedItem[]> => {
    if (embedding === undefined) return []
    const [asked] = await embed(embedding, [shorten(input, MOST_CHARACTERS)], context.signal)
    const newest = await context.items.list(context.owner, context.namespace, maxCompared)
    return rankByLikeness(newest, asked!, minLikeness)
  }

  return {
    async retrieve(context, input) {
      const [byWords, byLikeness] = await Promise.all([findItems(context, input), findAlike(context, input)])
      const ranked = embedding === undefined ? byWords : fuseRankings([byWords, byLikeness])
      const texts = [...new Set(ranked.map(({ item }) => item.text))].slice(0, limit)
      const taken = takeWithin(texts, maxCharacters)
      if (taken.length === 0) return undefined
      return `What earlier conversations with this user said that may matter now:\n${taken.map((text) => `- ${text}`).join('\n')}`
    },
    async store(context, turn) {
      const facts = extract === undefined ? [toTurnText(turn)] : await extract(turn, context)
      const texts = facts.slice(0, MOST_FACTS).map((fact) => shorten(fact.trim(), MOST_CHARACTERS))
      const kept = texts.filter((text) => text !== '')
      if (kept.length === 0) return []
      const embeddings = embedding === undefined ? [] : await embed(embedding, kept, context.signal)
      for (const [index, text] of kept.entries())
        await context.items.put(toItem(context, text, embeddings[index]))
      return kept.map(idOf)
    }
  }
}

/** The items of an owner that share words with a text, best first: a store knows whole words, this their stems. */
async function findItems(context: MemoryContext, text: string): Promise<RankedItem[]> {
  const { searched, ranked } = queryWords(text)
  if (searched.size === 0) return []
  const words = [...searched.values()].flat().join(' ')
  const found = await context.items.search(context.owner, context.namespace, words, MOST_CANDIDATES)
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

// The same fact is one item, however often it is said.
const idOf = (text: string) => createHash('sha256').update(text).digest('base64url').slice(0, 24)
