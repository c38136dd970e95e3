import {
  addUsage,
  hasReport,
  RunReport,
  ZERO_USAGE,
  type RunContext,
  type Runnable,
  type YieldedPart
} from '@svc/registry'
import { requireContext } from '../require-context.ts'

/**
 * The parts of a run; its `run.*` events are emitted here where nobody does so who executes it.
 * @throws RUN_ERR_BAD_CONTEXT
 */
export function tellRun(
  runnable: Runnable,
  context: RunContext,
  stream: AsyncGenerator<YieldedPart, void>
): AsyncGenerator<YieldedPart, void> {
  return hasReport(context, runnable) ? stream : reportRun(runnable, context, stream)
}

async function* reportRun(
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

/** The answer of a run that is there as a whole. */
export function* tellAnswer({
  text,
  structured
}: {
  text: string
  structured: unknown
}): Generator<YieldedPart, void> {
  if (text !== '') yield { type: 'text', text }
  if (structured !== null) yield { type: 'structured', value: structured }
}
