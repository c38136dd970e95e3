import {
  errorFromPart,
  RunResultBuilder,
  toPartError,
  toStoredError,
  type ChildCaller,
  type Delivery,
  type Journal,
  type RunContext,
  type RunInput,
  type RunMiddleware,
  type Runnable,
  type RunResult,
  type YieldedPart
} from '@svc/contract'
import { RUN_ERR_CANCELED } from '@svc/contract/errors'
import {
  completeFinish,
  isReplayed,
  leaveStream,
  requireCaller,
  requireInput,
  RunReport
} from '@svc/registry/engine'
import { ChildGuard } from '../guards/guard.ts'
import { partsAlone } from '../runnables/run-stream.ts'
import { isContinued } from '../sessions/turn.ts'

/** Adds the name of a member or step to the `source` of its part. */
export function withSource(name: string, part: YieldedPart): YieldedPart {
  return { ...part, source: [name, ...(part?.source ?? [])] }
}

/** The `error` part of a failed member or step, safe for clients. */
export function failureOf(name: string, err: unknown): YieldedPart {
  return withSource(name, { type: 'error', error: toPartError(toStoredError(err)) })
}

/** A complete answer. */
export interface Answer {
  readonly text: string
  readonly structured: unknown
}

/** The parts of an answer, with the answer as their record; those that an earlier process has written are not written again. */
export async function* recordedAnswer(
  journal: Journal | undefined,
  answer: Answer
): AsyncGenerator<YieldedPart, void> {
  for (const part of answerParts(answer)) {
    const key = answerKey(part)
    if (journal === undefined) yield part
    else if ((await journal.recall(key)) !== undefined) yield journal.replay(part)
    else yield journal.record(part, key, answer).part
  }
}

/** The answer that an earlier process has begun to write. */
export async function recallAnswer(journal: Journal | undefined): Promise<Answer | undefined> {
  for (const type of ['text', 'structured'] as const) {
    const found = await journal?.recall(answerKey({ type }))
    if (found !== undefined) return found.output as Answer
  }
  return undefined
}

function answerKey({ type }: Pick<YieldedPart, 'type'>): string {
  return `#answer ${type}`
}

/** The parts of an answer that is complete already. */
function* answerParts({ text, structured }: Answer): Generator<YieldedPart, void> {
  if (text !== '') yield { type: 'text', text }
  if (structured !== null) yield { type: 'structured', value: structured }
}

/** The key of a child's result in its journal. */
const RESULT = '#result'

/** One call of a member or a step. */
export interface ChildCall {
  readonly runnable: Runnable
  readonly input: RunInput
  /** The parent's. */
  readonly context: RunContext
  /** Ends the parent's wait, and with it the child. */
  readonly signal: AbortSignal
  /** Added to the `source` of its parts. */
  readonly name: string
  /** Distinguishes several calls of the same child; default: the name. */
  readonly key?: string
  /** As in `ChildOptions`. */
  readonly attempt?: number
  /** If true, its parts appear as the parent's own. */
  readonly unsourced?: boolean
  /** If true, it gets the conversation, instructions and tools of the caller of the run. */
  readonly answersCaller?: boolean
  /** As in `ChildOptions`. */
  readonly caller?: ChildCaller | undefined
  /** As in `ChildOptions`. */
  readonly delivery?: Delivery | undefined
  /** As in `ChildOptions`. */
  readonly use?: readonly RunMiddleware[] | undefined
  readonly emit: Emit
}

/**
 * Runs a runnable as a child of another: emits its parts under its name and returns its result. The caller reports a failure.
 * @throws the child's error, thrown or in its `error` part; the reason why the parent ended, if it did
 */
export async function runChild(call: ChildCall): Promise<RunResult> {
  const { runnable, input, name, key, attempt, unsourced, answersCaller, caller, delivery, use, emit } = call
  const guard = new ChildGuard(call.signal)
  const { signal } = guard
  const options = {
    key,
    attempt,
    unsourced,
    answersCaller,
    caller,
    delivery,
    use,
    signal,
    reported: runnable
  }
  const context = call.context.child(name, options)
  const { journal } = context
  const startedAt = performance.now()
  const result = new RunResultBuilder()
  let iterator: AsyncIterator<YieldedPart> | undefined
  let report: RunReport | undefined
  const forward = (part: YieldedPart) => guard.wait(emit(unsourced ? part : withSource(name, part)))
  try {
    signal.throwIfAborted()
    const ended = await journal?.recall(RESULT)
    if (ended !== undefined) return ended.output as RunResult
    if (!isContinued(input, context)) requireInput(runnable, input)
    if (caller !== undefined) requireCaller(runnable, caller)
    const { runId, sessionId } = context
    result.add({ type: 'start', runId, sessionId, kind: runnable.kind, name: runnable.name })
    report = new RunReport(context, runnable)
    iterator = partsAlone(runnable.stream(input, context))[Symbol.asyncIterator]()
    for (;;) {
      const { done, value } = await guard.wait(iterator.next())
      const part: YieldedPart = done ? { type: 'finish', finishReason: 'stop' } : value
      if (part?.type === 'start') continue
      if (part?.type === 'error' && !part.source?.length) throw errorFromPart(part.error)
      if (part?.type !== 'finish' || part.source?.length) {
        result.add(part as Exclude<YieldedPart, { type: 'finish' }>)
        if (!isReplayed(part)) report.take(part)
        await forward(part)
        continue
      }
      const finish = completeFinish(part, result, startedAt)
      if (finish.finishReason === 'canceled') throw new RUN_ERR_CANCELED()
      // If a child reports usage only in `finish`, emit a `step` for it.
      if (result.usage.totalTokens === 0 && finish.usage.totalTokens > 0)
        await forward({ type: 'step', index: 0, usage: finish.usage })
      result.add(finish)
      const built = result.build()
      if (!unsourced) await forward(journal?.record(finish, RESULT, built).part ?? finish)
      report.end({ result: finish })
      return built
    }
  } catch (err) {
    const reason: unknown = call.signal.aborted ? call.signal.reason : err
    guard.end(err)
    report?.fail(reason, result.usage)
    throw reason
  } finally {
    guard.close()
    void leaveStream(iterator)
  }
}

/** Emits a part; resolves when its reader asks for the next one. */
export type Emit = (part: YieldedPart) => Promise<void>

interface Offered extends PromiseWithResolvers<void> {
  part: YieldedPart
}

/** Merges the parts of parallel members and steps in order of arrival. A writer waits until its part is read. */
export class PartChannel {
  #offered: Offered[] = []
  #taken: Offered | undefined
  #news: PromiseWithResolvers<void> | undefined
  #closed: { reason: unknown } | undefined

  readonly put: Emit = (part) => {
    if (this.#closed !== undefined) return Promise.reject(this.#closed.reason)
    const offered = { part, ...Promise.withResolvers<void>() }
    this.#offered.push(offered)
    this.wake()
    return offered.promise
  }

  /** The next part; undefined if none is ready. */
  take(): YieldedPart | undefined {
    this.#taken = this.#offered.shift()
    return this.#taken?.part
  }

  /** The part that was taken is read: its writer continues. */
  done(): void {
    this.#taken?.resolve()
  }

  /** Resolves on the next part or wake-up. */
  news(): Promise<void> {
    this.#news ??= Promise.withResolvers()
    return this.#offered.length > 0 ? Promise.resolve() : this.#news.promise
  }

  wake(): void {
    this.#news?.resolve()
    this.#news = undefined
  }

  /** Rejects pending and later writes with `reason`. */
  close(reason: unknown): void {
    this.#closed = { reason }
    const left = this.#offered.splice(0)
    if (this.#taken !== undefined) left.push(this.#taken)
    for (const { reject, promise } of left) {
      promise.catch(() => {})
      reject(reason)
    }
  }
}

/** Yields the parts of `main` and of the channel as they arrive; returns the value of `main`. */
export async function* interleave<R>(
  main: AsyncGenerator<YieldedPart, R, void>,
  channel: PartChannel
): AsyncGenerator<YieldedPart, R> {
  let next: PromiseSettledResult<IteratorResult<YieldedPart, R>> | undefined
  const advance = async () => {
    next = undefined
    ;[next] = await Promise.allSettled([main.next()])
    channel.wake()
  }
  try {
    void advance()
    for (;;) {
      for (let part; (part = channel.take()) !== undefined;) {
        yield part
        channel.done()
      }
      if (next === undefined) {
        await channel.news()
        continue
      }
      if (next.status === 'rejected') throw next.reason
      if (next.value.done) return next.value.value
      yield next.value.value
      void advance()
    }
  } finally {
    main.return(undefined as never).catch(() => {})
  }
}

/** Adapts a promise to the `main` of `interleave`. */
// oxlint-disable-next-line require-yield -- it has no parts of its own
export async function* awaiting<R>(work: () => Promise<R>): AsyncGenerator<YieldedPart, R, void> {
  return await work()
}
