import {
  addUsage,
  toPartError,
  toStoredError,
  ZERO_USAGE,
  type FinishReason,
  type RunContext,
  type RunnableKind,
  type YieldedPart
} from '@svc/registry'
import { RunEvents } from '../events/run-events.ts'

/** The same parts; the bus is told when the run of a team or workflow starts and how it ends. */
export async function* tellRun(
  { kind, name }: { kind: RunnableKind; name: string },
  context: RunContext,
  stream: AsyncIterable<YieldedPart>
): AsyncGenerator<YieldedPart, void> {
  const startedAt = performance.now()
  const { sessionId } = context
  const events = new RunEvents(context, name, kind)
  let usage = ZERO_USAGE
  let finishReason: FinishReason = 'canceled'
  let failure: unknown
  events.emit('run.start', () => ({ sessionId }))
  try {
    for await (const part of stream) {
      if (part.type === 'step') usage = addUsage(usage, part.usage)
      if (part.type === 'finish' && !part.source?.length) finishReason = part.finishReason
      yield part
    }
  } catch (err) {
    failure = err
    throw err
  } finally {
    const durationMs = performance.now() - startedAt
    if (failure === undefined || (failure as { code?: unknown }).code === 'RUN_ERR_CANCELED')
      events.emit('run.complete', () => ({ sessionId, finishReason, usage, durationMs }))
    else
      events.emit('run.error', () => ({ sessionId, error: toPartError(toStoredError(failure)), durationMs }))
  }
}

/** The answer of a run that is there as a whole. */
export function* tellAnswer(
  events: RunEvents,
  { text, structured }: { text: string; structured: unknown }
): Generator<YieldedPart, void> {
  if (text !== '') {
    events.chunk(text)
    yield { type: 'text', text }
  }
  if (structured !== null) yield { type: 'structured', value: structured }
}
