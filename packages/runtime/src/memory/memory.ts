import type { Awaitable, MemoryStore, RunContext, RunLog } from '@svc/contract'

/** The run that a memory serves. */
export interface MemoryContext {
  /** Whose memory it is; items of another owner must never be returned. */
  readonly owner: string
  /** Derived from the agent and its registry, so that each agent has its own memory. */
  readonly namespace: string
  readonly sessionId: string
  readonly runId: string
  /** The app's memory store. */
  readonly items: MemoryStore
  /** Aborts when the run ends or the memory times out. */
  readonly signal: AbortSignal
  readonly log: RunLog
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
