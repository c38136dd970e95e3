import {
  addUsage,
  hasReport,
  RunReport,
  ZERO_USAGE,
  type RunContext,
  type Runnable,
  type YieldedPart
} from '@svc/registry'
import { RUN_ERR_BAD_CONTEXT } from '../errors.ts'

/**
 * The parts of a run; its `run.*` events are emitted here where nobody does so who executes it.
 * @throws RUN_ERR_BAD_CONTEXT
 */
export function reportRun(
  runnable: Runnable,
  context: RunContext,
  stream: AsyncGenerator<YieldedPart, void>
): AsyncGenerator<YieldedPart, void> {
  return hasReport(context, runnable) ? stream : emitRunEvents(runnable, context, stream)
}

async function* emitRunEvents(
  runnable: Runnable,
  context: RunContext,
  stream: AsyncIterable<YieldedPart>
): AsyncGenerator<YieldedPart, void> {
  requireContext(context)
  const report = new RunReport(context, runnable)
  let usage = ZERO_USAGE
  try {
    for await (const part of stream) {
      report.take(part)
      if (part.type === 'step') usage = addUsage(usage, part.usage)
      // Who reads the stream need not come back for more.
      if (part.type === 'finish' && !part.source?.length)
        report.end({ result: { finishReason: part.finishReason, usage } })
      yield part
    }
  } catch (err) {
    report.fail(err, usage)
    throw err
  } finally {
    report.end({ result: { finishReason: 'canceled', usage } })
  }
}

/** Makes sure, by one look, that a run was given a whole context. @throws RUN_ERR_BAD_CONTEXT */
export function requireContext(context: RunContext): void {
  if (typeof context?.child !== 'function') throw new RUN_ERR_BAD_CONTEXT()
}
