import {
  isPromise,
  RUN_ERR_CANCELED,
  type Awaitable,
  type FinishReason,
  type YieldedPart
} from '@svc/contract'
import { interleave, type PartChannel } from '../children/part-channel.ts'
import type { RunGuard } from '../guards/run-guard.ts'
import { RUN_ERR_TOOL_SKIPPED, toToolError } from '../errors.ts'
import { callTools } from '../tool-calls/call-tools.ts'
import { toOutcomePart } from '../tool-calls/tool-outcome.ts'
import type { ModelAnswer } from '../models/model-answer.ts'
import type { Checked, ModelLoop, OpenStep } from './model-loop.ts'

/** A turn of a conversation, from its beginning to its end. */
export interface Conversation {
  readonly begin: () => Promise<ModelLoop>
  readonly guard: RunGuard
  /** The parts of members, whose usage then counts too. */
  readonly channel?: PartChannel
  /** Called with the text of the answer once the turn is saved. */
  readonly onAnswer?: (text: string) => void
  readonly close: () => void
}

/**
 * The only model-tool loop: model → tools → model … → answer → saved turn. A run that fails or is canceled saves nothing,
 * or what was delivered of its answer.
 * @throws RUN_ERR_MODEL_…, RUN_ERR_BAD_OUTPUT, RUN_ERR_STORE, the time-outs, the signal's reason
 */
export async function* converse(conversation: Conversation): AsyncGenerator<YieldedPart, void> {
  const { begin, guard, channel, onAnswer, close } = conversation
  let loop: ModelLoop | undefined
  let error: unknown
  let isSaved = false
  try {
    loop = await begin()
    let finishReason: FinishReason = 'max-steps'
    let text = ''
    while (loop.mayStep) {
      const opened = await loop.open()
      const { step } = opened
      const { delivered } = loop
      delivered?.begin(step)
      for (let part; (part = await step.next()) !== undefined;) yield part
      const { answer } = step
      const isInterrupted = delivered?.isInterrupted === true
      const calls = answer.toolCalls.length > 0
      const { structured, correction, fault } = calls || isInterrupted ? UNCHECKED : await loop.check(answer)
      const isDone = !(calls || isInterrupted || correction !== undefined || fault !== undefined)
      const isSteered = isDone && !loop.closeSteering()
      const mayContinue = calls || isSteered || correction !== undefined || !isText(answer)
      const { part, stored } = loop.end(opened, mayContinue)
      delivered?.send(answer, isInterrupted || !(calls || correction !== undefined), isInterrupted)
      yield part
      if (isInterrupted) {
        yield* skipTools(loop, opened)
        finishReason = 'stop'
        break
      }
      if (fault !== undefined) throw fault.err
      if (correction !== undefined) {
        loop.askToCorrect(answer, correction)
        continue
      }
      if (isSteered) {
        const storing = stored()
        if (isPromise(storing)) await storing
        loop.goOn(opened)
        continue
      }
      if (!calls) {
        if (structured !== undefined) yield await toStructured(loop, structured.value)
        loop.record(opened, [])
        ;({ text, finishReason } = answer)
        break
      }
      // A call that a crash interrupts is not repeated only if its step is recorded.
      const storing = stored()
      if (isPromise(storing)) await storing
      yield* useTools(loop, opened, channel)
      const stopReason = await loop.stopReason()
      if (stopReason === undefined || !loop.closeSteering()) continue
      finishReason = stopReason
      break
    }
    await loop.save()
    isSaved = true
    if (loop.delivered !== undefined) text = await loop.delivered.settled()
    if (text !== '') onAnswer?.(text)
    const releasing = guard.release()
    if (releasing !== undefined) await releasing
    yield { type: 'finish', finishReason, ...(channel === undefined && { usage: loop.usage }) }
  } catch (err) {
    error = err
    throw err
  } finally {
    loop?.journal?.rest()
    if (!isSaved) await loop?.delivered?.saveLate()
    // A reader that leaves gives no reason.
    if (!guard.isReleased) await guard.release(error ?? new RUN_ERR_CANCELED())
    close()
  }
}

const UNCHECKED: Checked = {}

function isText({ content }: ModelAnswer): boolean {
  return content.every(({ type }) => type === 'text' || type === 'reasoning')
}

async function* useTools(
  loop: ModelLoop,
  opened: OpenStep,
  channel: PartChannel | undefined
): AsyncGenerator<YieldedPart, void> {
  const calling = callTools(opened.step.answer.toolCalls, opened.toolCalls)
  loop.journal?.rest()
  const outcomes = yield* channel === undefined ? calling : interleave(calling, channel)
  loop.record(opened, outcomes)
}

/** Records a step whose answer the user interrupted before its tools were called. */
export function* skipTools(loop: ModelLoop, opened: OpenStep): Generator<YieldedPart, void> {
  const error = toToolError(new RUN_ERR_TOOL_SKIPPED())
  const outcomes = opened.step.answer.toolCalls.map((call) => ({ call, error, durationMs: 0 }))
  loop.record(opened, outcomes)
  yield* outcomes.map(toOutcomePart)
}

function toStructured({ journal }: ModelLoop, value: unknown): Awaitable<YieldedPart> {
  const part = { type: 'structured', value } as const
  return journal?.structured(part) ?? part
}
