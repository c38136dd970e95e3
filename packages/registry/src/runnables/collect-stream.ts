import {
  errorFromPart,
  RunResultBuilder,
  type RunContext,
  type Runnable,
  type RunResult,
  type YieldedPart
} from '@svc/contract'
import { completeFinish } from '../engine/complete-finish.ts'

/**
 * Collects the result of a stream that no engine executes.
 * @throws what the stream throws, or the error of its `error` part
 */
export async function collectStream(
  runnable: Pick<Runnable, 'kind' | 'name'>,
  stream: AsyncIterable<YieldedPart>,
  context: Pick<RunContext, 'runId' | 'sessionId'>
): Promise<RunResult> {
  const startedAt = performance.now()
  const builder = new RunResultBuilder()
  const { runId, sessionId } = context
  builder.add({ type: 'start', runId, sessionId, kind: runnable.kind, name: runnable.name })
  for await (const part of stream) {
    if (part.type === 'finish' && !part.source?.length) {
      builder.add(completeFinish(part, builder, startedAt))
      return builder.build()
    }
    if (part.type === 'error' && !part.source?.length) throw errorFromPart(part.error)
    builder.add(part as Exclude<YieldedPart, { type: 'finish' }>)
  }
  builder.add(completeFinish({ type: 'finish', finishReason: 'stop' }, builder, startedAt))
  return builder.build()
}

/**
 * Closes a runnable's iterator. A generator that is waiting notices when its wait ends; this is not awaited by callers, and what it
 * throws then goes to `onFault`.
 */
export async function leaveStream(
  iterator: AsyncIterator<unknown> | undefined,
  onFault: (err: unknown) => void = () => {}
): Promise<void> {
  try {
    await iterator?.return?.()
  } catch (err) {
    onFault(err)
  }
}
