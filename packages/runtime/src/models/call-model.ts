import type { LanguageModelV4, LanguageModelV4CallOptions, LanguageModelV4StreamPart } from '@ai-sdk/provider'
import type { RunContext, YieldedPart } from '@svc/registry'
import type { RunGuard } from '../agents/run-guard.ts'
import { RUN_ERR_MODEL_STREAM_BROKEN } from '../errors.ts'
import type { RunEvents } from '../events/run-events.ts'
import { ModelAnswer } from './model-answer.ts'
import { toModelFault, type ModelFault } from './model-fault.ts'
import { retryDelay, type Retry } from './retry-model.ts'
import { ToldCall } from './told-call.ts'

/** What every model call of a run has in common. */
export interface ModelCalls {
  readonly model: LanguageModelV4
  readonly context: RunContext
  readonly guard: RunGuard
  readonly events: RunEvents
  readonly retry: Retry
  /** Ids of the tool calls so far. */
  readonly callIds: Set<string>
}

type Reader = ReadableStreamDefaultReader<LanguageModelV4StreamPart>

/**
 * One step: calls the model, again after a transient failure that comes before the first token, and yields what it
 * says while it says it.
 * @throws RUN_ERR_MODEL_… and the time-outs; why the run has to end when its guard ends it
 */
export async function* callModel(
  calls: ModelCalls,
  options: LanguageModelV4CallOptions,
  index: number
): AsyncGenerator<YieldedPart, ModelAnswer> {
  const { guard, events } = calls
  for (let attempt = 1; ; attempt++) {
    yield { type: 'step.start', index, attempt }
    const told = new ToldCall(calls, index, attempt)
    const answer = new ModelAnswer(calls.callIds)
    let reader: Reader | undefined
    let off: (() => void) | undefined
    try {
      guard.check()
      guard.expectFirstToken()
      const opened = (reader = await openStream(calls.model, options, guard))
      // Canceling settles the read that is under way, whatever the model does.
      off = guard.onEnd((reason) => void opened.cancel(reason).catch(ignore))
      for (;;) {
        const { done, value } = await opened.read()
        if (done) break
        const part = answer.take(value)
        if (part !== undefined) {
          guard.expectNothing()
          if (part.type === 'text') events.chunk(part.text)
          yield part
        }
        if (answer.ended !== undefined) break
        if (answer.begun && value.type !== 'ping') guard.expectToken()
      }
      guard.check()
      requireEnd(answer)
      told.end(answer)
      return answer
    } catch (err) {
      guard.check()
      guard.expectNothing()
      const fault = toFault(err, answer)
      told.fail(fault.error)
      await guard.sleep(delayAfter(fault, attempt, index, calls))
    } finally {
      told.leave(guard.signal.reason)
      guard.expectNothing()
      off?.()
      if (reader !== undefined) void leave(reader, answer)
    }
  }
}

async function openStream(
  model: LanguageModelV4,
  options: LanguageModelV4CallOptions,
  guard: RunGuard
): Promise<Reader> {
  const opening = model.doStream(options)
  try {
    return (await guard.wait(opening)).stream.getReader()
  } catch (err) {
    if (guard.signal.aborted) opening.then(({ stream }) => stream.cancel(), ignore).then(undefined, ignore)
    throw err
  }
}

// A stream that said its last word is read to its end, so that its connection can be used again; any other is canceled.
async function leave(reader: Reader, answer: ModelAnswer): Promise<void> {
  try {
    if (answer.ended === undefined) await reader.cancel()
    else while (!(await reader.read()).done);
  } catch {
    // The answer is complete, or its failure is told already.
  }
}

// A stream that just ends, or says no reason, was cut off.
function requireEnd({ ended }: ModelAnswer): void {
  const reason = ended?.unified
  if (reason === 'error') throw new Error('the model ended with an error')
  if (reason === undefined || reason === 'interrupted') {
    throw Object.assign(new Error('the stream of the model was cut off'), { code: 'ECONNRESET' })
  }
}

function toFault(err: unknown, { begun }: ModelAnswer): ModelFault {
  const fault = toModelFault(err)
  return begun ? { ...fault, error: new RUN_ERR_MODEL_STREAM_BROKEN(), transient: false } : fault
}

// How long to wait before the next attempt. @throws the failure when there is none
function delayAfter(
  fault: ModelFault,
  attempt: number,
  index: number,
  { context, retry }: ModelCalls
): number {
  const delay = retryDelay(fault, attempt, retry)
  const { error, details } = fault
  const { code } = error as Error & { code?: string }
  context.log.warn(
    { runId: context.runId, step: index, attempt, delay, code, ...details },
    'model call failed'
  )
  if (delay === undefined) throw error
  return delay
}

const ignore = () => {}
