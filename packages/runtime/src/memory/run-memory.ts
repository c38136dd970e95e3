import { ANONYMOUS, GLOBAL_REGISTRY, toLoggable, type RunContext } from '@svc/registry'
import { unlessAborted } from '../guards/guard.ts'
import { RUN_ERR_MEMORY_FAILED, toToolError } from '../errors.ts'
import type { RunEvents } from '../events/run-events.ts'
import type { Memory, MemoryContext, MemoryTurn } from './memory.ts'

// A memory that hangs holds no run, and no process.
const RETRIEVE_TIMEOUT = 10_000
const STORE_TIMEOUT = 120_000

const underWay = new Set<Promise<void>>()

/** Waits until everything that agents remember by now is stored, at most so many milliseconds. */
export async function settleMemories(ms: number): Promise<void> {
  if (underWay.size === 0) return
  const { promise, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, ms)
  await Promise.race([Promise.allSettled(underWay), promise])
  clearTimeout(timer)
}

/** The memory of an agent in one run: whatever it does, the run goes on. It is never told the caller's keys. */
export class RunMemory {
  readonly #memory: Memory
  readonly #context: RunContext
  readonly #events: RunEvents
  readonly #namespace: string

  constructor(memory: Memory, context: RunContext, events: RunEvents, namespace: string) {
    this.#memory = memory
    this.#context = context
    this.#events = events
    // Names have no slash.
    this.#namespace = context.registry === GLOBAL_REGISTRY ? namespace : `/${context.registry}/${namespace}`
  }

  /** What the memory has for the prompt. @throws nothing but why `signal` aborted */
  async retrieve(input: string, signal: AbortSignal): Promise<string | undefined> {
    const ending = AbortSignal.any([signal, AbortSignal.timeout(RETRIEVE_TIMEOUT)])
    const asked = this.#context.redact(input)
    try {
      const text = await unlessAborted(ending, () => this.#memory.retrieve(this.#contextOf(ending), asked))
      return typeof text === 'string' && text.trim() !== '' ? text : undefined
    } catch (err) {
      signal.throwIfAborted()
      this.#fail(err, 'what is remembered could not be retrieved')
      return undefined
    }
  }

  /** Begins to store a turn, and returns at once. */
  store(turn: MemoryTurn): void {
    const work = this.#store(turn)
    underWay.add(work)
    void work.finally(() => underWay.delete(work))
  }

  async #store(turn: MemoryTurn): Promise<void> {
    const { sessionId } = this.#context
    this.#events.emit('memory.extract', () => ({ sessionId }))
    const ending = AbortSignal.timeout(STORE_TIMEOUT)
    const told = this.#context.redact(turn)
    try {
      const ids = await unlessAborted(ending, () => this.#memory.store(this.#contextOf(ending), told))
      this.#events.emit('memory.stored', () => ({ sessionId, ids: [...(ids ?? [])] }))
    } catch (err) {
      this.#fail(err, 'a turn could not be remembered')
    }
  }

  #contextOf(signal: AbortSignal): MemoryContext {
    const context = this.#context
    const { sessionOwner: owner, sessionId, runId, log, stores } = context
    // Who is nobody in particular shares nothing with all the others who are.
    const namespace = owner === ANONYMOUS.sub ? `${this.#namespace}/session/${sessionId}` : this.#namespace
    return { owner, namespace, sessionId, runId, items: stores.memory, signal, log, context }
  }

  #fail(err: unknown, message: string): void {
    const { log, runId, sessionId } = this.#context
    const error = toToolError(err, new RUN_ERR_MEMORY_FAILED(message))
    log.warn({ err: toLoggable(err), runId, code: error.code }, message)
    this.#events.emit('memory.error', () => ({ sessionId, error }))
  }
}
