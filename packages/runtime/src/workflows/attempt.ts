import { randomUUID } from 'node:crypto'
import { backoffDelay, codeOf, MAX_TIMER, type RunContext, type RunMiddleware } from '@svc/contract'
import { failureOf, withSource, type Emit } from '../children/run-child.ts'
import { RUN_ERR_STEP_TIMEOUT } from '../errors.ts'
import type { RunEvents } from '../events/events.ts'
import { ChildGuard } from '../guards/guard.ts'
import type { AnyFlow, AnyView, StepOptions } from './flow.ts'

const DEFAULTS = { attempts: 1, baseDelay: 500, maxDelay: 30_000 }

/**
 * Retries a step until it succeeds, rejects, or its attempts are used up; each attempt has its own time-out.
 * @throws the error of the last attempt, RUN_ERR_STEP_TIMEOUT, or the reason why the run must end
 */
export async function attempt<T>(
  name: string,
  { retry, timeout }: StepOptions,
  place: Place,
  work: (guard: ChildGuard, attempt: number) => Promise<T>
): Promise<T> {
  const { attempts, baseDelay, maxDelay } = { ...DEFAULTS, ...retry }
  const limit = timeout && { ms: timeout, reason: new RUN_ERR_STEP_TIMEOUT(name, timeout) }
  const { journal } = place.context
  const failed = (count: number) => `${name}#failed ${count}`
  let first = 1
  while ((await journal?.recall(failed(first))) !== undefined) first++
  for (let count = first; ; count++) {
    if (count > 1) await retrying(name, count, place)
    const guard = new ChildGuard(place.signal, limit || undefined)
    try {
      guard.signal.throwIfAborted()
      return await guard.wait(work(guard, count))
    } catch (err) {
      place.signal.throwIfAborted()
      guard.end(err)
      const part = failureOf(name, err)
      if (count >= attempts || codeOf(err) === 'RUN_ERR_REJECTED') {
        await place.emit(part)
        throw err
      }
      await place.emit(journal?.record(part, failed(count), null).part ?? part)
    } finally {
      guard.close()
    }
    await sleep(backoffDelay(count, { baseDelay, maxDelay }), place.signal)
  }
}

// The parts of the failed attempt are void.
async function retrying(name: string, count: number, { context: { journal }, emit }: Place): Promise<void> {
  const part = withSource(name, { type: 'step.start', index: 0, attempt: count })
  const key = `${name}#attempt ${count}`
  if (journal === undefined) await emit(part)
  else if ((await journal.recall(key)) === undefined) await emit(journal.record(part, key, null).part)
}

/** Waits for `ms` milliseconds, without the limit of a timer. @throws the signal's reason */
async function sleep(ms: number, signal: AbortSignal): Promise<void> {
  const end = Date.now() + ms
  const guard = new ChildGuard(signal)
  try {
    do {
      const { promise, resolve } = Promise.withResolvers<void>()
      const timer = setTimeout(resolve, Math.max(0, Math.min(end - Date.now(), MAX_TIMER)))
      await guard.wait(promise).finally(() => clearTimeout(timer))
    } while (Date.now() < end)
  } finally {
    guard.close()
  }
}

/** The position of a step in the run of a workflow. */
export interface Place {
  /** The context of the enclosing block; its journal holds the step's output. */
  readonly context: RunContext
  /** Ends the block. */
  readonly signal: AbortSignal
  /** Emits a part of the block. */
  readonly emit: Emit
  readonly events: RunEvents
  /** The middleware of the workflow. */
  readonly use: readonly RunMiddleware[]
  readonly view: AnyView
  /** Runs the flow of a block. */
  readonly run: (flow: AnyFlow, place: Place) => Promise<unknown>
}

/**
 * The place inside a block, whose name its parts carry. `key` separates the journals of rounds and items; `conversation`
 * separates the sessions of parallel flows, so that they neither wait for nor see each other.
 */
export function within(
  place: Place,
  name: string,
  changes: Partial<Pick<Place, 'signal' | 'view'>> & { key?: string; conversation?: string } = {}
): Place {
  const { key, conversation, view = place.view, signal = place.signal } = changes
  const sessionId = conversation && `${place.context.sessionId}/${conversation}`
  return {
    ...place,
    view,
    signal,
    context: place.context.child(name, { key, signal, sessionId }),
    emit: (part) => place.emit(withSource(name, part))
  }
}

/** True if an earlier process already started the work of `key`; the parts it emitted for that are void. */
export async function wasStartedBefore(context: RunContext, key: string): Promise<boolean> {
  const self = randomUUID()
  return (await context.step(key, () => self)) !== self
}
