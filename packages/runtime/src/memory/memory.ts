import type { Awaitable, MemoryStore, RunContext, RunLog } from '@svc/registry'

/** What a memory is told of the run that it serves. */
export interface MemoryContext {
  /** Whose memory it is: nothing that was kept for another owner may be given. */
  readonly owner: string
  /** Of the agent and the registry of the run: what each agent remembers is its own. */
  readonly namespace: string
  readonly sessionId: string
  readonly runId: string
  /** The app's store of memories. */
  readonly items: MemoryStore
  /** Aborts when the run ends, or when the time of a memory is over. */
  readonly signal: AbortSignal
  readonly log: RunLog
  /** The run's own context. */
  readonly context: RunContext
}

/** One turn of a conversation as a memory sees it: texts only. */
export interface MemoryTurn {
  /** What the user said. */
  readonly input: string
  /** What the agent answered. */
  readonly text: string
}

/** What an agent remembers beyond the messages of its session. A fault of a memory never fails a run. */
export interface Memory {
  /** What is worth knowing for this input, as a text for the prompt; nothing when there is nothing. */
  retrieve(context: MemoryContext, input: string): Awaitable<string | undefined>
  /** Keeps what is worth keeping of a turn that was saved, in the background; gives the ids of what it kept. */
  store(context: MemoryContext, turn: MemoryTurn): Awaitable<readonly string[]>
}
