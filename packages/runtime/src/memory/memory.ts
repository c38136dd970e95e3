import { Type } from '@sinclair/typebox'
import {
  requireOptions,
  type Awaitable,
  type MemoryStore,
  type RunContext,
  type RunLog,
  type SessionMessage
} from '@svc/contract'
import { prefixedError } from '../checks/option-errors.ts'
import { RUN_ERR_BAD_AGENT } from '../errors.ts'
import type { RunEvents } from '../events/events.ts'

/** The run that a memory serves. */
export interface MemoryContext {
  /** Whose memory it is; items of another owner must never be returned. */
  readonly owner: string
  /** Derived from the agent and its registry, so that each agent has its own memory. */
  readonly namespace: string
  readonly sessionId: string
  readonly runId: string
  /** The messages of the session that the run has loaded; none for a run that another process began. Rejects if the session cannot be read. */
  readonly history: Promise<readonly SessionMessage[]>
  /** The app's memory store. */
  readonly items: MemoryStore
  /** Aborts when the run ends or the memory times out. */
  readonly signal: AbortSignal
  readonly log: RunLog
  /** Emits events of the run, such as `memory.recalled`. */
  readonly events: Pick<RunEvents, 'emit'>
  /** The run's own context. */
  readonly context: RunContext
}

/** The texts of one turn of a conversation. */
export interface MemoryTurn {
  /** The user's message. */
  readonly input: string
  /** The agent's answer. */
  readonly text: string
}

/** What an agent remembers beyond the messages of its session. An error of a memory never fails a run. */
export interface Memory {
  /** Returns a text for the prompt that is relevant to `input`, or undefined. */
  retrieve(context: MemoryContext, input: string): Awaitable<string | undefined>
  /** Stores what matters of a saved turn, in the background; returns the ids of the stored items. */
  store(context: MemoryContext, turn: MemoryTurn): Awaitable<readonly string[]>
}

const atLeast = (minimum: number) => Type.Optional(Type.Integer({ minimum }))
const strict = { additionalProperties: false }

const SCHEMAS = {
  recallMemory: Type.Object(
    {
      extract: Type.Optional(Type.Function([], Type.Unknown())),
      limit: atLeast(1),
      maxCharacters: atLeast(1),
      // Checked by hand: a schema does not see inherited methods.
      embedding: Type.Optional(Type.Any()),
      minSimilarity: Type.Optional(Type.Number({ minimum: -1, maximum: 1 }))
    },
    strict
  ),
  windowMemory: Type.Object({ turns: atLeast(1), maxCharacters: atLeast(1) }, strict)
}

/** Checks the options of a memory. @throws RUN_ERR_BAD_AGENT, naming the memory and the option */
export function requireMemoryOptions(memory: keyof typeof SCHEMAS, options: unknown): void {
  requireOptions(SCHEMAS[memory], options, prefixedError(memory, RUN_ERR_BAD_AGENT))
}

const MAX_CHARACTERS = 2_000

/** Formats a turn as one text, with at most 2,000 characters per side. */
export function toTurnText({ input, text }: MemoryTurn): string {
  return `User: ${shorten(input)}\nAssistant: ${shorten(text)}`
}

/** Cuts a text to `characters`, with an ellipsis if it was longer. */
export function shorten(text: string, characters: number = MAX_CHARACTERS): string {
  if (text.length <= characters) return text
  return `${text.slice(0, characters - 1).toWellFormed()}…`
}

/** The first texts that together fit into `characters`. */
export function takeWithin(texts: readonly string[], characters: number): string[] {
  const taken: string[] = []
  let left = characters
  for (const text of texts) {
    left -= text.length
    if (left < 0) break
    taken.push(text)
  }
  return taken
}
