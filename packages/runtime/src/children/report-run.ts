import { addUsage, ZERO_USAGE, type RunContext, type Runnable, type YieldedPart } from '@svc/contract'
import { hasReport, RunReport } from '@svc/registry/engine'

/** Passes the parts of a run through, and emits its `run.*` events unless the engine or a parent does: then it is `reported`. */
export function reportRun(
  runnable: Runnable,
  context: RunContext,
  execute: (reported: boolean) => AsyncGenerator<YieldedPart, void>
): AsyncGenerator<YieldedPart, void> {
  return hasReport(context, runnable) ? execute(true) : emitRunEvents(runnable, context, execute(false))
}

async function* emitRunEvents(
  runnable: Runnable,
  context: RunContext,
  stream: AsyncIterable<YieldedPart>
): AsyncGenerator<YieldedPart, void> {
  const report = new RunReport(context, runnable)
  let usage = ZERO_USAGE
  try {
    for await (const part of stream) {
      report.take(part)
      if (part.type === 'step') usage = addUsage(usage, part.usage)
      // The reader may stop here, so the report cannot wait for the end of the stream.
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
