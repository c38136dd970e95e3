import {
  ANONYMOUS,
  memorySpaceOf,
  toLoggable,
  within,
  type Awaitable,
  type RunContext,
  type SessionMessage
} from '@svc/contract'
import { unlessAborted } from '../guards/guard.ts'
import { RUN_ERR_MEMORY_FAILED } from '../errors.ts'
import { toToolError } from '../tool-calls/tool-outcome.ts'
import type { RunEvents } from '../events/events.ts'
import type { Memory, MemoryContext, MemoryTurn } from './memory.ts'

// A memory that hangs must not block a run or a shutdown.
const RETRIEVE_TIMEOUT = 3_000
const STORE_TIMEOUT = 120_000

const pending = new Set<Promise<void>>()

/** Waits for pending writes of memories, for at most `ms` milliseconds. */
export async function settleMemories(ms: number): Promise<void> {
  if (pending.size === 0) return
  await within(ms, Promise.allSettled(pending))
}

/** Counts work as a pending write of a memory until it is done; it must not reject. */
export function settleLater(work: Promise<void>): void {
  pending.add(work)
  void work.finally(() => pending.delete(work))
}

/** An agent's memory in one run. Its errors never fail the run, and it never receives the caller's keys. */
export class RunMemory {
  readonly #memory: Memory
  readonly #context: RunContext
  readonly #events: RunEvents
  readonly #namespace: string
  #history: Awaitable<readonly SessionMessage[]> = []

  constructor(memory: Memory, context: RunContext, events: RunEvents, name: string) {
    this.#memory = memory
    this.#context = context
    this.#events = events
    this.#namespace = memorySpaceOf({ registry: context.registry, name })
  }

  /** Returns the memory's text for the prompt. @throws only the reason of `signal` */
  async retrieve(
    input: string,
    history: Awaitable<readonly SessionMessage[]>,
    signal: AbortSignal
  ): Promise<string | undefined> {
    this.#history = history
    const ending = AbortSignal.any([signal, AbortSignal.timeout(RETRIEVE_TIMEOUT)])
    const redacted = this.#context.redact(input)
    try {
      const text = await unlessAborted(ending, () => this.#memory.retrieve(this.#contextOf(ending), redacted))
      return typeof text === 'string' && text.trim() !== '' ? text : undefined
    } catch (err) {
      signal.throwIfAborted()
      this.#fail(err, 'memory retrieval failed')
      return undefined
    }
  }

  /** Stores a turn in the background. */
  store(turn: MemoryTurn): void {
    settleLater(this.#store(turn))
  }

  async #store(turn: MemoryTurn): Promise<void> {
    const { sessionId } = this.#context
    this.#events.emit('memory.extract', () => ({ sessionId }))
    const ending = AbortSignal.timeout(STORE_TIMEOUT)
    const redacted = this.#context.redact(turn)
    try {
      const ids = await unlessAborted(ending, () => this.#memory.store(this.#contextOf(ending), redacted))
      this.#events.emit('memory.stored', () => ({ sessionId, ids: [...(ids ?? [])] }))
    } catch (err) {
      this.#fail(err, 'memory write failed')
    }
  }

  #contextOf(signal: AbortSignal): MemoryContext {
    const context = this.#context
    const { sessionOwner: owner, sessionId, runId, log, stores } = context
    // Anonymous callers share one owner: keep their memories per session.
    const namespace = owner === ANONYMOUS.sub ? `${this.#namespace}/session/${sessionId}` : this.#namespace
    const history = Promise.resolve(this.#history)
    // A memory that does not look at it must not fail the process.
    history.catch(ignore)
    const [items, events] = [stores.memory, this.#events]
    return { owner, namespace, sessionId, runId, history, items, signal, log, events, context }
  }

  #fail(err: unknown, message: string): void {
    const { log, runId, sessionId } = this.#context
    const error = toToolError(err, new RUN_ERR_MEMORY_FAILED(message))
    log.warn({ err: toLoggable(err), runId, code: error.code }, message)
    this.#events.emit('memory.error', () => ({ sessionId, error }))
  }
}

const ignore = () => {}
