import {
  isPromise,
  type Awaitable,
  type EarlierAnswer,
  type Journal,
  type PartOf,
  type PartSink,
  type RecordedPart,
  type YieldedPart
} from '@svc/contract'
import { RUN_ERR_DAMAGED } from '@svc/contract/errors'
import type { Compaction } from '../context/compact-prompt.ts'
import type { RunGuard } from '../guards/guard.ts'
import type { AnswerScope, ModelAnswer } from '../models/model-answer.ts'
import { fromRecord, toRecord, type AnswerRecord } from '../models/model-step.ts'
import { isRecord } from '../schemas/compile-schema.ts'
import type { TurnRecord } from '../sessions/turn.ts'

/** The beginning of a loop, so that another process says the same to the model. */
export interface LoopRecord extends TurnRecord {
  /** The sections after the instructions in the system prompt. */
  readonly sections: readonly string[]
}

/** A step of a loop: the answer, and with the first one the beginning of the loop. */
interface StepRecord {
  readonly answer: AnswerRecord
  readonly loop?: LoopRecord
  /** How many messages that joined the run it or an earlier step has read; left out if there are none. */
  readonly steers?: number
}

/** What a step leaves to be recorded. */
interface EndedStep {
  readonly answer: ModelAnswer
  readonly loop: () => LoopRecord
  readonly steers: number | undefined
}

/**
 * The journal of one loop. A loop of one step without tools records nothing: it is begun again from its input, unless its whole
 * answer is in the log. Loops of members, of steps of workflows and of runs whose messages are checked record every step.
 */
export class LoopJournal {
  readonly #journal: Journal
  readonly #guard: RunGuard
  readonly #recordsAll: boolean
  #isRecording: boolean
  // The next step, if an earlier process recorded it.
  #next: StepRecord | undefined
  #isReplaying = true
  // The last answer of a loop that has recorded nothing, from the log.
  #logged: EarlierAnswer | undefined
  #endWork: (() => void) | undefined

  constructor(journal: Journal, guard: RunGuard, recordsAll: boolean) {
    this.#journal = journal
    this.#guard = guard
    this.#recordsAll = this.#isRecording = recordsAll
  }

  /** The journal for the tool calls of the loop. */
  get journal(): Journal {
    return this.#journal
  }

  /** How an earlier process began the loop; undefined if it recorded no step. @throws RUN_ERR_DAMAGED */
  async recallLoop(): Promise<LoopRecord | undefined> {
    await this.#recall(0)
    return this.#next?.loop
  }

  /** The answer of a step that an earlier process recorded, or that its log has complete. */
  async recallAnswer(index: number): Promise<AnswerRecord | undefined> {
    if (index > 0) await this.#recall(index)
    if (this.#next !== undefined || this.#recordsAll) return this.#next?.answer
    this.#logged = this.#journal.earlierAnswer(index)
    return this.#logged && answerFromLog(this.#logged)
  }

  /** The compactions before a step that an earlier process recorded. */
  async recallCompactions(index: number): Promise<Compaction[]> {
    const found: Compaction[] = []
    while (this.#journal.begun) {
      const recorded = await this.#journal.recall(compactionKey(index, found.length + 1))
      if (recorded === undefined) break
      found.push(recorded.output as Compaction)
    }
    return found
  }

  /** The part of a compaction, recorded with it. @param count how many came before it in its step */
  recordCompaction(compaction: Compaction, count: number): RecordedPart<YieldedPart> {
    const { part } = compaction
    return this.#journal.record(part, compactionKey(part.index, count + 1), compaction)
  }

  /** How many messages the step that was recalled last had read; all of them if only the log has it. */
  get steered(): number {
    return this.#next === undefined ? Infinity : (this.#next.steers ?? 0)
  }

  /** True if the step that was recalled last is recorded, not only in the log. */
  get isRecorded(): boolean {
    return this.#next !== undefined
  }

  /** True if an earlier process recorded the step. */
  async hasStep(index: number): Promise<boolean> {
    return this.#isReplaying && (await this.#journal.recall(stepKey(index))) !== undefined
  }

  /** The part of a step that has ended, recorded with its answer if more steps may follow. */
  record(
    part: YieldedPart,
    index: number,
    { answer, loop, steers = 0 }: EndedStep,
    mayContinue: boolean
  ): RecordedPart<YieldedPart> | undefined {
    if (!mayContinue && !this.#isRecording) return undefined
    this.#isRecording = true
    const record: StepRecord = {
      answer: toRecord(answer),
      ...(index === 0 && { loop: loop() }),
      ...(steers > 0 && { steers })
    }
    return this.#journal.record(part, stepKey(index), record)
  }

  /** The part of a structured answer; a loop that records its last step writes it once. */
  async structured(part: YieldedPart): Promise<YieldedPart> {
    if (!this.#isRecording) return this.#logged?.isStructured ? this.#journal.replay(part) : part
    if ((await this.#journal.recall(STRUCTURED)) !== undefined) return this.#journal.replay(part)
    return this.#journal.record(part, STRUCTURED, null).part
  }

  /** Resolves when the record of a part that was yielded is in the store. */
  stored({ stored }: RecordedPart<YieldedPart>): Awaitable<void> {
    const storing = stored()
    if (isPromise(storing)) return this.#guard.wait(storing)
  }

  /** Resolves when the answer is in the log: a turn that is saved before would be part of its own history after a crash. */
  written(): Awaitable<void> {
    const writing = this.#journal.written()
    if (isPromise(writing)) return this.#guard.wait(writing)
  }

  /** Called before each model call. @throws the reason why the run must end */
  mayContinue(): Awaitable<void> {
    const waiting = this.#journal.mayContinue()
    if (!isPromise(waiting)) return
    return this.#rested(waiting)
  }

  async #rested(waiting: Promise<void>): Promise<void> {
    this.rest()
    await this.#guard.wait(waiting)
    this.work()
  }

  /** The loop ends, or waits for its tools, which mark their own work. */
  rest(): void {
    this.#endWork?.()
    this.#endWork = undefined
  }

  /** The loop is at work, on its next step. */
  work(): void {
    this.#endWork ??= this.#journal.work()
  }

  async #recall(index: number): Promise<void> {
    const found = this.#isReplaying ? await this.#journal.recall(stepKey(index)) : undefined
    this.#next = found && toStepRecord(found.output, index)
    this.#isReplaying = found !== undefined
    if (this.#isReplaying) this.#isRecording = true
  }
}

const STRUCTURED = '#structured'

// Damage must not pass for a step that was never recorded, whose calls would be repeated.
function toStepRecord(output: unknown, index: number): StepRecord {
  const { answer, loop } = isRecord(output) ? (output as Partial<StepRecord>) : {}
  const usage = isRecord(answer) ? (answer['usage'] ?? {}) : undefined
  const isWhole = isRecord(answer) && Array.isArray(answer['content']) && isRecord(usage)
  if (!isWhole || (index === 0 && !isRecord(loop))) throw new RUN_ERR_DAMAGED(stepKey(index))
  return output as StepRecord
}

// Nothing is said to the model after it, so that the text will do.
function answerFromLog({ text, usage, finishReason }: EarlierAnswer): AnswerRecord {
  return {
    content: text === '' ? [] : [{ type: 'text', text }],
    finishReason: { unified: finishReason, raw: undefined },
    ...(usage !== undefined && { usage })
  }
}

function compactionKey(index: number, number: number): string {
  return `#compact ${index}.${number}`
}

function stepKey(index: number): string {
  return `#step ${index}`
}

/** A step that an earlier process recorded: its parts are in the log, and the model is not called again. */
export class ReplayedStep {
  readonly answer: ModelAnswer
  readonly #journal: Journal
  readonly #index: number
  readonly #before: readonly YieldedPart[]

  constructor(
    journal: Journal,
    record: AnswerRecord,
    scope: AnswerScope,
    index: number,
    before: readonly YieldedPart[]
  ) {
    this.#journal = journal
    this.#index = index
    this.#before = before
    this.answer = fromRecord(record, scope)
  }

  /** Pushes the parts of the step, for collectors of its run. */
  async pushTo(sink: PartSink): Promise<void> {
    for (const part of this.#before) await sink(part)
    for (const part of partsOf(this.answer, this.#index)) await sink(this.#journal.replay(part))
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
