import {
  errorFromPart,
  RUN_ERR_CANCELED,
  RunResultBuilder,
  type ChildCaller,
  type Delivery,
  type RunContext,
  type RunInput,
  type Runnable,
  type RunResult,
  type YieldedPart
} from '@svc/contract'
import {
  completeFinish,
  isReplayed,
  leaveStream,
  requireCaller,
  requireInput,
  RunReport
} from '@svc/registry/engine'
import { partsAlone } from '../runnables/run-stream.ts'
import { isContinued } from '../sessions/take-message.ts'
import { ChildGuard } from '../guards/child-guard.ts'
import type { Emit } from './part-channel.ts'
import { withSource } from './child-parts.ts'

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
  readonly emit: Emit
}

/**
 * Runs a runnable as a child of another: emits its parts under its name and returns its result. The caller reports a failure.
 * @throws the child's error, thrown or in its `error` part; the reason why the parent ended, if it did
 */
export async function runChild(call: ChildCall): Promise<RunResult> {
  const { runnable, input, name, key, attempt, unsourced, answersCaller, caller, delivery, emit } = call
  const guard = new ChildGuard(call.signal)
  const { signal } = guard
  const options = { key, attempt, unsourced, answersCaller, caller, delivery, signal, reported: runnable }
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
