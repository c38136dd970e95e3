import {
  andThen,
  isPromise,
  TurnKey,
  type AcceptedMessage,
  type Awaitable,
  type FinishReason,
  type PartSink,
  type RunInput,
  type SessionMessage,
  type YieldedPart
} from '@svc/contract'
import { requireInput } from '@svc/registry/engine'
import { nameOf, prefixBadOptions } from '../checks/option-errors.ts'
import { awaiting, interleave, type PartChannel } from '../children/run-child.ts'
import { readSituation, toSituation } from '../context/situation.ts'
import { joinSections } from '../context/step-prompt.ts'
import { RUN_ERR_TOOL_SKIPPED } from '../errors.ts'
import { toOutcomePart, toToolError, type EmitPart, type ToolOutcome } from '../tool-calls/tool-outcome.ts'
import type { RunGuard } from '../guards/guard.ts'
import type { ModelAnswer, ModelToolCall } from '../models/model-answer.ts'
import { pushAll } from '../runnables/pushed-parts.ts'
import {
  isContinued,
  MESSAGE,
  questionOf,
  takeMessage,
  Turn,
  type TakenMessage,
  type TurnStart
} from '../sessions/turn.ts'
import { callTools } from '../tool-calls/call-tool.ts'
import { addClientTools, createClientTools } from '../tools/client-tools.ts'
import type { ToolSet } from '../tools/tool-set.ts'
import { LoopJournal, type LoopRecord } from './loop-journal.ts'
import type { LoopPlan } from './loop-plan.ts'
import { ModelLoop, type Checked, type LoopRun, type OpenStep } from './model-loop.ts'

/** The turn of a run, before it begins; without a store if the caller keeps the conversation. */
export function createTurn(
  { sessions }: Pick<LoopPlan, 'sessions'>,
  { kind, name, context, guard }: LoopRun
): Turn {
  const { registry, sessionOwner: owner, sessionId, stores, messages, idempotencyKey } = context
  const store = messages === undefined ? (sessions ?? stores.sessions) : undefined
  return new Turn(store, new TurnKey(registry, owner, kind, name, sessionId), idempotencyKey, guard)
}

/** Returns what is remembered that fits a question, in a session with this history. */
export type Remember = (
  question: string,
  history: Awaitable<readonly SessionMessage[]>
) => Promise<string | undefined>

/** The start of a loop. */
export interface LoopStart {
  readonly input: RunInput
  /** As in `TurnStart`. */
  readonly words?: Promise<string | undefined> | undefined
  /** As in `RunContext`; default: that of the run. */
  readonly messages?: readonly SessionMessage[] | undefined
  /** Resolves the tools of the run. */
  tools(): Awaitable<ToolSet>
  /** The section after the instructions in the system prompt, before those of the caller. */
  section(): string | undefined
  /** Returns what is remembered that fits a question, in a session with this history. */
  readonly remember?: Remember | undefined
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
  if (context.compacts !== true && !isContinued(input, context)) requireInput(MESSAGE, input)
  // Before anything that takes time: turns of a session follow in the order in which their runs were accepted.
  const locking = turn.lock()
  if (isPromise(locking)) await locking
  const { journal: recording, clientTools } = context
  const recordsAll = context.idempotencyKey !== context.runId || run.hooks?.checksMessages === true
  const journal = recording && new LoopJournal(recording, guard, recordsAll)
  const recorded = journal && (await journal.recallLoop())
  const resolving = plan.resolveModel(context)
  const model = isPromise(resolving) ? await guard.wait(resolving) : resolving
  let sections: LoopRecord['sections']
  if (recorded === undefined) {
    const taking =
      input === undefined
        ? undefined
        : takeMessage(input as AcceptedMessage, { model, guard, urls: plan.urls })
    const message = isPromise(taking) ? await taking : taking
    const instructing =
      typeof plan.instructions === 'function' ? plan.instructions(context) : plan.instructions
    const instructions = isPromise(instructing) ? await guard.wait(instructing) : instructing
    sections = [start.section(), context.instructions].filter((section) => section !== undefined)
    const system = joinSections(instructions, sections)
    const { newSession: isNew, messages } = context
    const kept = start.messages ?? messages
    plan.instructionWatch?.notice(nameOf(run.kind, run), instructions ?? '', context)
    const beginning = turn.begin({
      message,
      kept,
      system,
      isNew,
      limits: plan.history,
      model,
      words: start.words,
      situation: situationFor(plan, run, start, message)
    })
    if (isPromise(beginning)) await beginning
  } else {
    turn.restore(recorded)
    ;({ sections } = recorded)
  }
  const choosing = start.tools()
  const own = isPromise(choosing) ? await guard.wait(choosing) : choosing
  const tools = clientTools.length === 0 ? own : addClientTools(own, await createClientTools(context))
  return new ModelLoop(plan, run, { turn, model, sections, journal, tools })
}

/** Reads what stands behind the words of the user; undefined without anything to read, or anyone to say it to. */
function situationFor(
  { situation }: LoopPlan,
  run: LoopRun,
  start: LoopStart,
  message: TakenMessage | undefined
): TurnStart['situation'] {
  const { context, guard } = run
  if (situation === undefined && start.remember === undefined) return undefined
  const isAsked = message !== undefined || context.messages?.at(-1)?.role === 'user'
  if (!isAsked) return undefined
  return async (history) => {
    const subject = nameOf(run.kind, run)
    const [text, memory] = await Promise.all([
      prefixBadOptions(subject, async () => guard.wait(Promise.resolve(readSituation(situation, context)))),
      start.remember?.(questionOf(message?.input, context), history)
    ])
    return toSituation(text, memory)
  }
}

/** A turn of a conversation, from its beginning to its end. */
export interface Conversation {
  readonly guard: RunGuard
  /** The parts of members, whose usage then counts too. */
  readonly channel?: PartChannel
  /** Pushes what precedes the first step. Undefined: the run is over, and what it says is pushed. */
  begin(sink: PartSink): Awaitable<ModelLoop | undefined>
  /** Called with the text of the answer once the turn is saved. */
  answered?(text: string): void
  close(): void
}

/**
 * The only model-tool loop: model → tools → model … → answer → saved turn. A run that fails or is canceled saves nothing,
 * or what was delivered of its answer.
 * @throws RUN_ERR_MODEL_…, RUN_ERR_BAD_OUTPUT, RUN_ERR_STORE, the time-outs, the signal's reason, the error of the sink
 */
export async function converse(conversation: Conversation, sink: PartSink): Promise<void> {
  const { guard, channel } = conversation
  let loop: ModelLoop | undefined
  let error: unknown
  let isSaved = false
  // What is to be awaited, of what seldom is.
  let waiting: Promise<unknown> | void
  try {
    loop = await conversation.begin(sink)
    if (loop === undefined) return
    const { delivered } = loop
    const { compacts = false } = loop.context
    let finishReason: FinishReason = compacts ? 'stop' : 'max-steps'
    let text = ''
    if (compacts) await loop.compactAsked(sink)
    steps: while (!compacts && loop.mayStep) {
      const opening = loop.open()
      const opened = isPromise(opening) ? await opening : opening
      const { step } = opened
      delivered?.begin(step)
      await step.pushTo(sink)
      const { answer } = step
      const following = follow(loop, answer)
      const after = isPromise(following) ? await following : following
      const { part, stored } = loop.end(opened, mayContinue(after, answer))
      delivered?.send(
        answer,
        after.next !== 'tools' && after.next !== 'correct',
        after.next === 'interrupted'
      )
      if ((waiting = sink(part)) !== undefined) await waiting
      switch (after.next) {
        case 'tools': {
          // A call that a crash interrupts is not repeated only if its step is recorded.
          if (isPromise((waiting = stored()))) await waiting
          loop.journal?.rest()
          const calling =
            channel === undefined
              ? pushTools(loop, opened, sink, guard)
              : pushAll(mergeTools(loop, opened, channel), sink)
          loop.record(opened, isPromise(calling) ? await calling : calling)
          const asking = loop.stopReason()
          const stopReason = isPromise(asking) ? await asking : asking
          if (stopReason === undefined) continue
          const closing = loop.closeSteering()
          if (!(isPromise(closing) ? await closing : closing)) continue
          finishReason = stopReason
          break steps
        }
        case 'correct':
          loop.askToCorrect(answer, after.correction)
          continue
        case 'steered':
          if (isPromise((waiting = stored()))) await waiting
          loop.goOn(opened)
          continue
        case 'answered':
          if (after.structured !== undefined) await sink(await toStructured(loop, after.structured.value))
          loop.record(opened, [])
          ;({ text, finishReason } = answer)
          break steps
        case 'interrupted':
          for (const skipped of skipTools(loop, opened))
            if ((waiting = sink(skipped)) !== undefined) await waiting
          finishReason = 'stop'
          break steps
        case 'failed':
          throw after.err
      }
    }
    for (const notice of loop.takeNotices()) if ((waiting = sink(notice)) !== undefined) await waiting
    if (isPromise((waiting = loop.save()))) await waiting
    isSaved = true
    if (delivered !== undefined) text = await delivered.settled()
    if (text !== '') conversation.answered?.(text)
    if ((waiting = guard.release()) !== undefined) await waiting
    const finish = {
      type: 'finish',
      finishReason,
      ...(channel === undefined && { usage: loop.usage })
    } as const
    if ((waiting = sink(finish)) !== undefined) await waiting
  } catch (err) {
    error = err
    throw err
  } finally {
    loop?.journal?.rest()
    if (!isSaved) await loop?.delivered?.saveLate()
    if (!guard.isReleased) await guard.release(error)
    conversation.close()
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

const TOOLS: After = { next: 'tools' }
const INTERRUPTED: After = { next: 'interrupted' }

function follow(loop: ModelLoop, answer: ModelAnswer): Awaitable<After> {
  if (loop.delivered?.isInterrupted === true) return INTERRUPTED
  if (answer.toolCalls.length > 0) return TOOLS
  const checking = loop.check(answer)
  return isPromise(checking)
    ? checking.then((checked) => followCheck(loop, checked))
    : followCheck(loop, checking)
}

function followCheck(loop: ModelLoop, { structured, correction, fault }: Checked): Awaitable<After> {
  if (fault !== undefined) return { next: 'failed', err: fault.err }
  if (correction !== undefined) return { next: 'correct', correction }
  return andThen(loop.closeSteering(), (isClosed) =>
    isClosed ? { next: 'answered', structured } : { next: 'steered' }
  )
}

/** True if another step may follow, or what the step has is not in the log as text. */
function mayContinue({ next }: After, answer: ModelAnswer): boolean {
  return next === 'correct' || next === 'steered' || answer.toolCalls.length > 0 || !isText(answer)
}

function isText({ content }: ModelAnswer): boolean {
  return content.every(({ type }) => type === 'text' || type === 'reasoning')
}

type Outcomes = ToolOutcome<ModelToolCall>[]

// The parts of calls between those of the members that they call.
function mergeTools(
  loop: ModelLoop,
  opened: OpenStep,
  channel: PartChannel
): AsyncGenerator<YieldedPart, Outcomes> {
  const emit: EmitPart = (part, onRead) => void channel.put(part).then(onRead, ignore)
  const calls = loop.callsOf(opened, emit)
  return interleave(
    awaiting(async () => callTools(opened.step.answer.toolCalls, calls)),
    channel
  )
}

function pushTools(loop: ModelLoop, opened: OpenStep, sink: PartSink, guard: RunGuard): Awaitable<Outcomes> {
  const parts = new OrderedParts(sink, guard)
  const calls = loop.callsOf(opened, (part, onRead) => parts.push(part, onRead))
  return parts.after(callTools(opened.step.answer.toolCalls, calls))
}

/** Pushes the parts of parallel work: each waits for what the sink returns for the one before. */
class OrderedParts {
  readonly #sink: PartSink
  readonly #guard: RunGuard
  #reading: Promise<void> | undefined

  constructor(sink: PartSink, guard: RunGuard) {
    this.#sink = sink
    this.#guard = guard
  }

  /** An error of the sink ends the run: what pushes may be in the middle of something. */
  push(...given: Parameters<EmitPart>): void {
    const before = this.#reading
    try {
      const reading = before === undefined ? this.#give(...given) : before.then(() => this.#give(...given))
      this.#reading = reading
      reading?.then(
        () => this.#reading === reading && (this.#reading = undefined),
        (err) => this.#guard.end(err)
      )
    } catch (err) {
      this.#guard.end(err)
    }
  }

  /** Settles like the work, once its parts are read. @throws the reason why the run must end */
  after<T>(work: Awaitable<T>): Awaitable<T> {
    return andThen(work, (done) =>
      andThen(this.#reading, () => {
        this.#guard.check()
        return done
      })
    )
  }

  #give(...[part, onRead]: Parameters<EmitPart>): Promise<void> | undefined {
    this.#guard.check()
    const waiting = this.#sink(part)
    if (waiting !== undefined && onRead !== undefined) return waiting.then(onRead)
    onRead?.()
    return waiting
  }
}

const ignore = () => {}

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
