import {
  errorFromPart,
  leaveStream,
  RUN_ERR_CANCELED,
  requireInput,
  RunReport,
  RunResultBuilder,
  type PartOf,
  type RunContext,
  type RunInput,
  type Runnable,
  type RunResult,
  type YieldedPart
} from '@svc/registry'
import { ChildGuard } from '../guards/child-guard.ts'
import type { Emit } from './part-channel.ts'
import { withSource } from './child-parts.ts'

/** One call of a member or a step. */
export interface ChildCall {
  readonly runnable: Runnable
  readonly input: RunInput
  /** Of the parent. */
  readonly context: RunContext
  /** Ends the parent's wait, and the child with it. */
  readonly signal: AbortSignal
  /** The name under which its parts are told. */
  readonly name: string
  /** Tells several calls of it apart; default: the name. */
  readonly key?: string
  /** Whether its parts are the parent's own. */
  readonly unsourced?: boolean
  readonly emit: Emit
}

/**
 * Runs a runnable as a part of another: its parts are told with its name, and what comes of it is given. That it failed is
 * for the caller to tell.
 * @throws what it throws or says in its `error` part; why the parent ends when it does
 */
export async function runChild(call: ChildCall): Promise<RunResult> {
  const { runnable, input, name, key, unsourced, emit } = call
  const guard = new ChildGuard(call.signal)
  const context = call.context.child(name, { key, unsourced, signal: guard.signal, reported: runnable })
  const startedAt = performance.now()
  const result = new RunResultBuilder()
  let iterator: AsyncIterator<YieldedPart> | undefined
  let report: RunReport | undefined
  const tell = (part: YieldedPart) => guard.wait(emit(unsourced ? part : withSource(name, part)))
  try {
    guard.signal.throwIfAborted()
    requireInput(runnable, input)
    const { runId, sessionId } = context
    result.add({ type: 'start', runId, sessionId, kind: runnable.kind, name: runnable.name })
    report = new RunReport(context, runnable)
    iterator = runnable.stream(input, context)[Symbol.asyncIterator]()
    for (;;) {
      const { done, value } = await guard.wait(iterator.next())
      const part: YieldedPart = done ? { type: 'finish', finishReason: 'stop' } : value
      if (part?.type === 'start') continue
      if (part?.type === 'error' && !part.source?.length) throw errorFromPart(part.error)
      if (part?.type !== 'finish' || part.source?.length) {
        result.add(part as Exclude<YieldedPart, { type: 'finish' }>)
        report.take(part)
        await tell(part)
        continue
      }
      const finish = complete(part, result, performance.now() - startedAt)
      if (finish.finishReason === 'canceled') throw new RUN_ERR_CANCELED()
      // Usage is what the `step` parts say: one that tells of it at its end only gets one.
      if (result.usage.totalTokens === 0 && finish.usage.totalTokens > 0)
        await tell({ type: 'step', index: 0, usage: finish.usage })
      if (!unsourced) await tell(finish)
      result.add(finish)
      report.end({ result: finish })
      return result.build()
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

function complete(
  { finishReason, usage, structured }: Extract<YieldedPart, { type: 'finish' }>,
  soFar: RunResultBuilder,
  durationMs: number
): PartOf<'finish'> {
  return {
    type: 'finish',
    finishReason,
    usage: usage ?? soFar.usage,
    durationMs: Math.round(durationMs * 1000) / 1000,
    structured: structured ?? soFar.structured
  }
}
