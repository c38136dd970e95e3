import { addUsage, type RunContext, type RunnableKind, type YieldedPart } from '@svc/registry'
import { RunEvents } from '../events/run-events.ts'
import { RunReport } from '../events/run-report.ts'
import { requireContext } from '../require-context.ts'

/**
 * The same parts; the bus is told when the run of a team or workflow starts and how it ends.
 * @throws RUN_ERR_BAD_CONTEXT, and what the stream throws
 */
export async function* tellRun(
  { kind, name }: { kind: RunnableKind; name: string },
  context: RunContext,
  stream: AsyncIterable<YieldedPart>
): AsyncGenerator<YieldedPart, void> {
  requireContext(context)
  const report = new RunReport(new RunEvents(context, name, kind), context.sessionId)
  try {
    for await (const part of stream) {
      if (part.type === 'step') report.usage = addUsage(report.usage, part.usage)
      if (part.type === 'finish' && !part.source?.length) report.finishReason = part.finishReason
      yield part
    }
  } catch (err) {
    report.fail(err)
    throw err
  } finally {
    report.end()
  }
}

/** The answer of a run that is there as a whole. */
export function* tellAnswer(
  events: RunEvents,
  { text, structured }: { text: string; structured: unknown }
): Generator<YieldedPart, void> {
  if (text !== '') {
    events.emit('run.stream.chunk', () => ({ text }))
    yield { type: 'text', text }
  }
  if (structured !== null) yield { type: 'structured', value: structured }
}
