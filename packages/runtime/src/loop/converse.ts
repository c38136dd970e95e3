import {
  isPromise,
  type AcceptedMessage,
  type Awaitable,
  type FinishReason,
  type RunInput,
  type YieldedPart
} from '@svc/contract'
import { RUN_ERR_CANCELED } from '@svc/contract/errors'
import { requireInput } from '@svc/registry/engine'
import { interleave, type PartChannel } from '../children/run-child.ts'
import { RUN_ERR_TOOL_SKIPPED } from '../errors.ts'
import { toOutcomePart, toToolError } from '../tool-calls/tool-outcome.ts'
import type { RunGuard } from '../guards/guard.ts'
import type { ModelAnswer } from '../models/model-answer.ts'
import { isContinued, questionOf, takeMessage, Turn } from '../sessions/turn.ts'
import { callTools } from '../tool-calls/call-tool.ts'
import { addClientTools, createClientTools } from '../tools/client-tools.ts'
import type { ToolSet } from '../tools/tool-set.ts'
import { LoopJournal } from './loop-journal.ts'
import type { LoopPlan } from './loop-plan.ts'
import { ModelLoop, type Checked, type LoopRun, type OpenStep } from './model-loop.ts'
import { joinSections } from '../sessions/to-prompt.ts'

/** The turn of a run, before it begins; without a store if the caller keeps the conversation. */
export function createTurn(
  { sessions }: Pick<LoopPlan, 'sessions'>,
  { kind, name, context, guard }: LoopRun
): Turn {
  const { registry, sessionOwner: owner, sessionId, stores, messages, idempotencyKey } = context
  const store = messages === undefined ? (sessions ?? stores.sessions) : undefined
  return new Turn(store, { registry, owner, kind, name, sessionId }, idempotencyKey, guard)
}

/** The start of a loop. */
export interface LoopStart {
  readonly input: RunInput
  /** As in `TurnStart`. */
  readonly words?: Promise<string | undefined> | undefined
  /** Resolves the tools of the run. */
  readonly tools: () => Awaitable<ToolSet>
  /** Returns the sections after the instructions in the system prompt, for the text of the input. */
  readonly sections: (text: string) => Awaitable<readonly (string | undefined)[]>
}

/**
 * Begins the turn of a run: instructions, history and input become the first prompt, unless an earlier process recorded it.
 * @throws RUN_ERR_BAD_INPUT, RUN_ERR_TOOL_NAME_TAKEN, RUN_ERR_URL_…, RUN_ERR_STORE, RUN_ERR_BAD_MODEL, RUN_ERR_BAD_AGENT
 */
export async function beginLoop(
  plan: LoopPlan,
  run: LoopRun,
  turn: Turn,
  start: LoopStart
): Promise<ModelLoop> {
  const { context, guard } = run
  const { input } = start
  guard.check()
  if (!isContinued(input, context)) requireInput({}, input)
  // Before anything that takes time: turns of a session follow in the order in which their runs were accepted.
  await turn.lock()
  const settle = <T>(work: Awaitable<T>): Awaitable<T> => (isPromise(work) ? guard.wait(work) : work)
  const journal =
    context.journal && new LoopJournal(context.journal, guard, context.idempotencyKey !== context.runId)
  const recorded = journal && (await journal.recallLoop())
  const model = await settle(plan.resolveModel(context))
  const addTools = async (own: Awaitable<ToolSet>) =>
    addClientTools(await own, await createClientTools(context))
  const tools = () => {
    const own = settle(start.tools())
    return context.clientTools.length === 0 ? own : addTools(own)
  }
  if (recorded !== undefined) {
    turn.restore(recorded)
    const { sections } = recorded
    return new ModelLoop(plan, run, { turn, model, sections, journal, tools: await tools() })
  }
  const message =
    input === undefined
      ? undefined
      : await takeMessage(input as AcceptedMessage, { model, guard, urls: plan.urls })
  const { instructions } = plan
  const text = await settle(typeof instructions === 'function' ? instructions(context) : instructions)
  const own = await settle(start.sections(questionOf(message?.input, context)))
  const rest = [context.instructions, ...own]
  await turn.begin({
    message,
    kept: context.messages,
    system: joinSections([text, ...rest]),
    isNew: context.newSession,
    limits: plan.history,
    model,
    words: start.words
  })
  return new ModelLoop(plan, run, { turn, model, sections: rest, journal, tools: await tools() })
}

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
    steps: while (loop.mayStep) {
      const opened = await loop.open()
      const { step } = opened
      const { delivered } = loop
      delivered?.begin(step)
      for (let part; (part = await step.next()) !== undefined;) yield part
      const { answer } = step
      const after = await follow(loop, answer)
      const { part, stored } = loop.end(opened, mayContinue(after, answer))
      delivered?.send(
        answer,
        after.next !== 'tools' && after.next !== 'correct',
        after.next === 'interrupted'
      )
      yield part
      switch (after.next) {
        case 'tools': {
          // A call that a crash interrupts is not repeated only if its step is recorded.
          const storing = stored()
          if (isPromise(storing)) await storing
          yield* useTools(loop, opened, channel)
          const stopReason = await loop.stopReason()
          if (stopReason === undefined || !loop.closeSteering()) continue
          finishReason = stopReason
          break steps
        }
        case 'correct':
          loop.askToCorrect(answer, after.correction)
          continue
        case 'steered': {
          const storing = stored()
          if (isPromise(storing)) await storing
          loop.goOn(opened)
          continue
        }
        case 'answered':
          if (after.structured !== undefined) yield await toStructured(loop, after.structured.value)
          loop.record(opened, [])
          ;({ text, finishReason } = answer)
          break steps
        case 'interrupted':
          yield* skipTools(loop, opened)
          finishReason = 'stop'
          break steps
        case 'failed':
          throw after.err
      }
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

/** What follows a step: its tools, another step that corrects or continues it, or the end of the turn. */
type After =
  | { readonly next: 'tools' }
  | { readonly next: 'correct'; readonly correction: string }
  /** A message has joined the run that no step has read. */
  | { readonly next: 'steered' }
  | { readonly next: 'answered'; readonly structured: Checked['structured'] }
  | { readonly next: 'interrupted' }
  | { readonly next: 'failed'; readonly err: unknown }

async function follow(loop: ModelLoop, answer: ModelAnswer): Promise<After> {
  if (loop.delivered?.isInterrupted === true) return { next: 'interrupted' }
  if (answer.toolCalls.length > 0) return { next: 'tools' }
  const checking = loop.check(answer)
  const { structured, correction, fault } = isPromise(checking) ? await checking : checking
  if (fault !== undefined) return { next: 'failed', err: fault.err }
  if (correction !== undefined) return { next: 'correct', correction }
  return loop.closeSteering() ? { next: 'answered', structured } : { next: 'steered' }
}

/** True if another step may follow, or what the step has is not in the log as text. */
function mayContinue({ next }: After, answer: ModelAnswer): boolean {
  return next === 'correct' || next === 'steered' || answer.toolCalls.length > 0 || !isText(answer)
}

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
