import type { Journal, PartOf, YieldedPart } from '@svc/contract'
import { fromRecord, type AnswerRecord } from '../models/answer-record.ts'
import type { AnswerScope, ModelAnswer } from '../models/model-answer.ts'

/** A step that an earlier process recorded: its parts are in the log, and the model is not called again. */
export class ReplayedStep {
  readonly answer: ModelAnswer
  readonly #journal: Journal
  readonly #index: number
  readonly #parts: YieldedPart[]

  constructor(journal: Journal, record: AnswerRecord, scope: AnswerScope, index: number) {
    this.#journal = journal
    this.#index = index
    this.answer = fromRecord(record, scope)
    this.#parts = [...partsOf(this.answer, index)]
  }

  /** The next part of the step, for collectors of its run; undefined at its end. */
  async next(): Promise<YieldedPart | undefined> {
    const part = this.#parts.shift()
    return part && this.#journal.replay(part)
  }

  /** The part that ends the step. */
  toPart(): PartOf<'step'> {
    const { usage, stepFinishReason: finishReason } = this.answer
    return this.#journal.replay({
      type: 'step',
      index: this.#index,
      ...(usage !== undefined && { usage }),
      finishReason
    })
  }
}

// The texts in one piece, as results show them.
function* partsOf(
  { text, providerCalls, providerOutcomes, toolCalls }: ModelAnswer,
  index: number
): Generator<YieldedPart> {
  yield { type: 'step.start', index, attempt: 1 }
  if (text !== '') yield { type: 'text', text }
  for (const call of providerCalls) yield { type: 'tool.call', ...call, providerExecuted: true }
  for (const { call, result, error } of providerOutcomes) {
    const { toolCallId, toolName } = call
    if (error === undefined)
      yield { type: 'tool.result', toolCallId, toolName, result, durationMs: 0, providerExecuted: true }
    else yield { type: 'tool.error', toolCallId, toolName, error, providerExecuted: true }
  }
  for (const { toolCallId, toolName, args } of toolCalls)
    yield { type: 'tool.call', toolCallId, toolName, args }
}
