import type { YieldedPart } from '../contract/part.ts'
import type { RunContext } from '../contract/run-context.ts'
import { RunResultBuilder, type RunResult } from '../contract/run-result.ts'
import type { Runnable } from '../contract/runnable.ts'
import { errorFromPart } from '../runs/run-error.ts'
import { completeFinish } from '../runs/complete-finish.ts'

/**
 * The result of a stream that no engine executes: what `run()` gives outside of one.
 * @throws what the stream throws, or what its `error` part says
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
 * Leaves what a runnable yields. A generator that waits for something sees it when its wait ends, which nobody waits for;
 * what it throws then goes to `onFault`.
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
