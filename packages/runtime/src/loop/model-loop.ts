import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4Message,
  LanguageModelV4Prompt
} from '@ai-sdk/provider'
import {
  addUsage,
  defined,
  findChoiceFault,
  isPromise,
  ZERO_USAGE,
  type Awaitable,
  type CompactionReason,
  type FinishReason,
  type PartSink,
  type RunContext,
  type Steering,
  type SteeringMessage,
  type ToolChoice,
  type Usage,
  type YieldedPart
} from '@svc/contract'
import { RUN_ERR_BAD_INPUT } from '@svc/contract/errors'
import { requireInput } from '@svc/registry/engine'
import { nameOf, prefixErrors } from '../checks/option-errors.ts'
import { ContextWindow, type CountedCall } from '../context/context-window.ts'
import { describePrompt } from '../context/describe-prompt.ts'
import { hasSystem } from '../context/prompt-places.ts'
import { splitSystem, toStepPrompt } from '../context/step-prompt.ts'
import type { RunEvents } from '../events/events.ts'
import type { RunGuard } from '../guards/guard.ts'
import type { RunHooks } from '../middleware/run-hooks.ts'
import { ENDED_BY_MIDDLEWARE } from '../middleware/text-gate.ts'
import { ModelStep, type AnswerRecord, type InterruptibleStep } from '../models/model-step.ts'
import type { ApprovalPolicy } from '../approvals/approval-manager.ts'
import type { ModelHost, Retry, StepCall } from '../models/call-report.ts'
import type { ModelAnswer, ModelToolCall, ProviderCalls } from '../models/model-answer.ts'
import { CacheMarks } from '../models/cache-marks.ts'
import { prepareModel } from '../models/model.ts'
import { stopAt } from '../models/stop-texts.ts'
import { callIdsOf } from '../models/prompt-content.ts'
import { OutputCheck } from '../output/output-format.ts'
import { MESSAGE, type Turn } from '../sessions/turn.ts'
import { CallJournal, type EmitPart, type ToolOutcome } from '../tool-calls/tool-outcome.ts'
import type { ToolCalls } from '../tool-calls/call-tool.ts'
import { addClientTools } from '../tools/client-tools.ts'
import { createToolSet, type ToolSet } from '../tools/tool-set.ts'
import { DeliveredTurn } from './delivered-turn.ts'
import { ReplayedStep, type LoopJournal } from './loop-journal.ts'
import type { LoopPlan } from './loop-plan.ts'
import {
  copyPlain,
  prepareChanges,
  requireBoolean,
  requireTool,
  toModelChoice,
  toStepCall,
  type PrepareStep,
  type StepChanges,
  type StepResult
} from '../sessions/to-prompt.ts'

/** An open step: its model call, and the tools that it has. */
export interface OpenStep {
  readonly index: number
  readonly step: ModelStep | InterruptibleStep | ReplayedStep
  readonly tools: ToolSet
}

/** What a check says about an answer: at most one of these. */
export interface Checked {
  readonly structured?: { readonly value: unknown }
  /** The correction to ask for. */
  readonly correction?: string
  /** The error of an answer that cannot be corrected. */
  readonly fault?: { readonly err: unknown }
}

/** One run of an agent or a team. */
export interface LoopRun {
  readonly kind: 'agent' | 'team'
  readonly name: string
  readonly context: RunContext
  readonly guard: RunGuard
  readonly events: RunEvents
  /** Undefined if there is no middleware around it. */
  readonly hooks?: RunHooks | undefined
}

/** The state at the start of a loop. */
interface LoopState {
  readonly turn: Turn
  readonly model: LanguageModelV4
  readonly tools: ToolSet
  /** The sections after the instructions in the system prompt. */
  readonly sections: readonly string[]
  readonly journal: LoopJournal | undefined
}

/** What an earlier process left of a step. */
type ResumedStep = Pick<StepCall, 'earlier' | 'before'>

/** A call whose prompt may be too long. */
interface LongCall {
  readonly options: LanguageModelV4CallOptions
  readonly model: LanguageModelV4
  readonly index: number
  readonly changes: StepChanges | undefined
}

/** Overrides for one step by the mode of a team. */
interface StepOverrides {
  readonly tools?: ToolSet
  readonly toolChoice?: ToolChoice
}

/** The steps of one run: opens model calls, which it is the host of, and records their answers and outcomes in the turn. */
export class ModelLoop implements ModelHost {
  readonly turn: Turn
  /** Set if the answer takes longer to deliver than to generate. */
  readonly delivered: DeliveredTurn | undefined
  /** Messages after the conversation, in every step but not in the session. */
  tail: readonly LanguageModelV4Message[] = []
  readonly #plan: LoopPlan
  readonly #host: LoopRun
  readonly #model: LanguageModelV4
  readonly #tools: ToolSet
  readonly #sections: LoopState['sections']
  readonly #output: OutputCheck | undefined
  readonly #marks: CacheMarks | undefined
  readonly #window: ContextWindow
  // The prompt as the turn began, or up to the message to be answered as it was compacted.
  #first: LanguageModelV4Prompt
  readonly journal: LoopJournal | undefined
  readonly #steering: LoopSteering | undefined
  readonly #callerChoice: CallerChoice | undefined
  #steps: readonly StepResult[] = NO_STEPS
  #callIds: Set<string> | undefined
  #providerCalls: ProviderCalls | undefined
  #opened = 0
  // Before the next step, or in it.
  #compactions = 0
  #sent: { readonly options: CountedCall; readonly model: LanguageModelV4 } | undefined
  #maxSteps: number
  #usage: Usage = ZERO_USAGE
  #stopped: FinishReason | undefined

  constructor(plan: LoopPlan, host: LoopRun, { turn, model, tools, sections, journal }: LoopState) {
    this.#plan = plan
    this.#host = host
    const { delivery, steering } = host.context
    this.turn = turn
    this.delivered = delivery && new DeliveredTurn(delivery, turn, host.context)
    this.#model = model
    this.#callerChoice = CallerChoice.of(host.context)
    this.#tools = tools
    this.#sections = sections
    this.journal = journal
    this.#output = plan.output && new OutputCheck(plan.output)
    this.#first = turn.prompt
    this.#marks = plan.cache === false ? undefined : new CacheMarks(plan.cache, host, turn)
    this.#window = new ContextWindow(plan.history, host.context.compactAt)
    this.#maxSteps = plan.maxSteps
    this.#steering = steering && new LoopSteering(steering, turn, host.hooks)
  }

  get context(): RunContext {
    return this.#host.context
  }

  get events(): RunEvents {
    return this.#host.events
  }

  get retry(): Retry {
    return this.#plan.retry
  }

  get approval(): ApprovalPolicy {
    return this.#plan.approval
  }

  get toolCallDeltas(): boolean {
    return this.#plan.toolCallDeltas
  }

  get callIds(): Set<string> {
    return (this.#callIds ??= callIdsOf(this.turn.prompt))
  }

  get providerCalls(): ProviderCalls {
    return (this.#providerCalls ??= new Map())
  }

  /** True while the model may be called again. */
  get mayStep(): boolean {
    return this.#opened < this.#maxSteps
  }

  /** The tokens of all steps. */
  get usage(): Usage {
    return this.#usage
  }

  /** Opens the next step. @throws RUN_ERR_BAD_AGENT, RUN_ERR_BAD_MODEL, the error of `prepareStep` */
  open(overrides: StepOverrides = NO_OVERRIDES): Awaitable<OpenStep> {
    return this.journal === undefined ? this.#open(overrides) : this.#resume(this.journal, overrides)
  }

  async #resume(journal: LoopJournal, overrides: StepOverrides): Promise<OpenStep> {
    journal.work()
    const recorded = await journal.recallAnswer(this.#opened)
    if (recorded !== undefined) {
      const recalling = this.#steering?.recall(journal, this.#opened)
      if (recalling !== undefined) await recalling
      return this.#replay(journal, recorded, overrides)
    }
    await journal.mayContinue()
    const before = await this.#recompact(journal)
    const earlier = journal.journal.takeAttempt(this.#opened)
    return this.#open(overrides, { earlier, ...(before.length > 0 && { before }) })
  }

  /** Compacts the prompt as an earlier process did before the next step. Returns the parts about it. */
  async #recompact(journal: LoopJournal): Promise<YieldedPart[]> {
    const compactions = await journal.recallCompactions(this.#opened)
    this.#compactions = compactions.length
    if (compactions.length === 0) return []
    const { applyCompaction } = await import('../context/compact-prompt.ts')
    // The beginning of a turn is recorded as its first step saw it.
    const isApplied = this.#opened === 0 && journal.isRecorded
    for (const compaction of compactions) {
      if (!isApplied) this.#begun(applyCompaction(this.turn, compaction))
      this.#usage = addUsage(this.#usage, compaction.part.usage)
    }
    return compactions.map(({ part }) => journal.journal.replay(part))
  }

  // The prompt begins with other messages.
  #begun(first: LanguageModelV4Prompt): void {
    this.#first = first
    this.#marks?.restart(first)
    this.#window.restart()
  }

  /** True, and no message joins the run any more, unless one has that no step has read: then a step follows. */
  closeSteering(): Awaitable<boolean> {
    const closing = this.#steering?.close() ?? true
    return isPromise(closing) ? closing.then((isClosed) => this.#mayClose(isClosed)) : this.#mayClose(closing)
  }

  /** The `guard` parts about messages that have joined, which no step carries. */
  takeNotices(): readonly YieldedPart[] {
    return this.#steering?.takeNotices() ?? NO_PARTS
  }

  #mayClose(isClosed: boolean): boolean {
    // Its answer takes one more model call, whatever `maxSteps` is.
    if (!isClosed && !this.mayStep) this.#maxSteps++
    return isClosed
  }

  /** Records a step without tool calls after which the run continues. */
  goOn(opened: OpenStep): void {
    this.record(opened, [])
    this.turn.goOn(opened.step.answer)
  }

  #open(overrides: StepOverrides, resumed: ResumedStep = NEW_STEP): Awaitable<OpenStep> {
    const reading = this.#steering?.read(this.#opened + 1 >= this.#maxSteps)
    if (isPromise(reading))
      return reading.then((notices) => this.#prepare(overrides, withBefore(resumed, notices)))
    return this.#prepare(overrides, resumed)
  }

  #prepare(overrides: StepOverrides, resumed: ResumedStep): Awaitable<OpenStep> {
    if (this.#plan.prepareStep === undefined) return this.#openWith(undefined, overrides, resumed)
    const changing = this.#changes(this.#plan.prepareStep)
    return changing.then((changes) => this.#openWith(changes, overrides, resumed))
  }

  #openWith(changes: StepChanges | undefined, overrides: StepOverrides, resumed: ResumedStep): OpenStep {
    const { settings, toolChoice: planned, history } = this.#plan
    const { guard } = this.#host
    const index = this.#opened++
    const own = overrides.toolChoice ?? changes?.toolChoice
    const tools = this.#toolsOf(changes, overrides.tools, own ?? planned)
    const model = this.#modelOf(changes)
    const toolChoice = own ?? this.#callerChoice?.forStep(tools) ?? planned
    const options: LanguageModelV4CallOptions = {
      ...settings,
      prompt: this.#promptFor(model, changes),
      abortSignal: guard.signal
    }
    if (tools.forModel !== undefined) {
      options.tools = tools.forModel
      if (toolChoice !== undefined) options.toolChoice = toModelChoice(toolChoice)
    }
    // Messages of the app are sent as they are.
    const mayCompact = history.compact !== undefined && changes?.messages === undefined
    const isDue = mayCompact && this.#window.isExceeded(options, model, this)
    if (!isDue) this.#complete(options, model, index, changes)
    this.#sent = { options, model }
    const compaction = mayCompact
      ? { isDue, compact: this.#compact.bind(this, { options, model, index, changes }) }
      : undefined
    const { hooks } = this.#host
    const carry = hooks?.checksMessages === true ? hooks.carry.bind(hooks) : undefined
    const checks = hooks?.textChecks(index)
    const call = { host: this, model, tools, options, index, ...resumed, compaction, carry, checks }
    const step = this.delivered?.step(call, guard) ?? new ModelStep(call, guard)
    return { index, step, tools }
  }

  #promptFor({ provider }: LanguageModelV4, changes: StepChanges | undefined): LanguageModelV4Prompt {
    return toStepPrompt(this.turn.prompt, provider, this.#sections, this.tail, changes)
  }

  // The prompt of a call is final: it is told and marked.
  #complete(
    options: LanguageModelV4CallOptions,
    model: LanguageModelV4,
    index: number,
    changes: StepChanges | undefined
  ): void {
    const isOwn = changes?.messages !== undefined
    this.events.emit('context.assembled', () => ({
      step: index,
      provider: model.provider,
      model: model.modelId,
      ...describePrompt(options, isOwn ? undefined : this.#first)
    }))
    this.#marks?.mark(options, model, isOwn)
  }

  /** The history of the turn in its prompt. */
  get past(): LanguageModelV4Prompt {
    return splitSystem(this.turn.prompt.slice(0, Math.max(this.#asked, 0)))[1]
  }

  /** The messages of the session that the history stands for. */
  get pastMessages(): number {
    return this.turn.sizeOf(0, this.#asked)
  }

  // The place of the message to be answered; that of the instructions if there is none.
  get #asked(): number {
    const asked = this.#first.findLastIndex(({ role }) => role === 'user')
    return asked < 0 ? Number(hasSystem(this.#first)) - 1 : asked
  }

  /** Compacts the history alone, as the caller of the run asks. @throws the reason why the run must end, the error of the sink */
  async compactAsked(sink: PartSink): Promise<void> {
    const { journal } = this
    if (journal !== undefined) {
      journal.work()
      const parts = await this.#recompact(journal)
      for (const part of parts) await sink(part)
      if (parts.length > 0) return
      await journal.mayContinue()
    }
    const model = this.#model
    const options = { ...this.#plan.settings, prompt: this.#promptFor(model, undefined) }
    await this.#leaveOut({ ...options, ...defined({ tools: this.#tools.forModel }) }, model, 0, 'asked', sink)
  }

  async #compact(
    { options, model, index, changes }: LongCall,
    reason: CompactionReason,
    sink: PartSink
  ): Promise<Pick<LanguageModelV4CallOptions, 'prompt' | 'providerOptions'> | undefined> {
    const isShorter = await this.#leaveOut(options, model, index, reason, sink)
    if (!isShorter && reason === 'overflow') return undefined
    const shorter = { ...options, prompt: this.#promptFor(model, changes) }
    this.#complete(shorter, model, index, changes)
    this.#sent = { options: shorter, model }
    const { prompt, providerOptions } = shorter
    return { prompt, ...defined({ providerOptions }) }
  }

  /** False if nothing can be left out. */
  async #leaveOut(
    call: LanguageModelV4CallOptions,
    model: LanguageModelV4,
    index: number,
    reason: CompactionReason,
    sink: PartSink
  ): Promise<boolean> {
    const { applyCompaction, compactPrompt } = await import('../context/compact-prompt.ts')
    const { history } = this.#plan
    const { context, guard } = this.#host
    const { turn, journal, events, retry } = this
    const long = { reason, index, turn, asked: this.#asked, call, model, past: this }
    const host = { history, window: this.#window, context, guard, events, retry }
    const compaction = await compactPrompt(long, host, sink)
    if (compaction === undefined) return false
    this.#begun(applyCompaction(turn, compaction))
    this.#usage = addUsage(this.#usage, compaction.part.usage)
    const recorded = journal?.recordCompaction(compaction, this.#compactions++)
    await sink(recorded?.part ?? compaction.part)
    // A summary that a crash interrupts is not written again only if it is recorded.
    if (recorded !== undefined) await journal!.stored(recorded)
    return true
  }

  // Only a step with tool calls may have left some to be made, by the tools that it had.
  async #replay(journal: LoopJournal, recorded: AnswerRecord, overrides: StepOverrides): Promise<OpenStep> {
    const before = await this.#recompact(journal)
    const step = new ReplayedStep(journal.journal, recorded, this, this.#opened, before)
    const { prepareStep } = this.#plan
    const isPrepared = prepareStep !== undefined && step.answer.toolCalls.length > 0
    const changes = isPrepared ? await this.#changes(prepareStep, true) : undefined
    const index = this.#opened++
    const model = this.#modelOf(changes)
    const tools = this.#toolsOf(changes, overrides.tools, undefined)
    // So that later steps count their prompts as they would without the crash.
    this.#sent = { options: { prompt: this.#promptFor(model, changes), tools: tools.forModel }, model }
    return { index, step, tools }
  }

  /** The rules for the tool calls of a step. */
  callsOf({ index: stepNumber, step, tools }: OpenStep, emit: EmitPart): ToolCalls {
    const { context, guard, events } = this.#host
    const { approval, approvalTimeout, sandbox } = this.#plan
    const journal = this.journal && new CallJournal(this.journal.journal, step instanceof ReplayedStep)
    const calling = {
      runnable: this.#host,
      stepNumber,
      prompt: this.turn.prompt,
      stopRun: (reason: FinishReason) => void (this.#stopped ??= reason)
    }
    return { tools, approval, approvalTimeout, sandbox, context, guard, events, journal, step: calling, emit }
  }

  /**
   * Records the usage of a step, and the step if more steps may follow; returns its part. Call `stored` before anything that
   * depends on the record.
   */
  end({ index, step }: OpenStep, mayContinue: boolean): { part: YieldedPart; stored: () => Awaitable<void> } {
    const { usage } = step.answer
    this.#usage = addUsage(this.#usage, usage)
    if (this.#sent !== undefined) this.#window.took(this.#sent.options, this.#sent.model, usage)
    this.#compactions = 0
    const part = step.toPart()
    const { journal } = this
    if (journal === undefined || (step instanceof ReplayedStep && journal.isRecorded))
      return { part, stored: nothing }
    const loop = () => ({ ...this.turn.toRecord(), sections: this.#sections })
    const ended = { answer: step.answer, loop, steers: this.#steering?.taken }
    const recorded = journal.record(part, index, ended, mayContinue)
    if (recorded === undefined) return { part, stored: nothing }
    return { part: recorded.part, stored: () => journal.stored(recorded) }
  }

  /** Records a step with its outcomes: in the turn, and for the conditions of the next one. */
  record({ index, step: { answer } }: OpenStep, outcomes: readonly ToolOutcome<ModelToolCall>[]): void {
    const message = this.turn.add(answer, outcomes)
    this.delivered?.record(message)
    this.#callerChoice?.endStep(answer.toolCalls)
    const { prepareStep, stopWhen } = this.#plan
    if (prepareStep === undefined && stopWhen.length === 0) return
    const { text, usage, finishReason } = answer
    const step: StepResult = {
      stepNumber: index,
      text,
      toolCalls: [...answer.providerOutcomes, ...outcomes].map(toStepCall),
      finishReason: outcomes.length > 0 ? 'tool-calls' : finishReason,
      usage
    }
    this.#steps = Object.freeze([...this.#steps, copyPlain(step, Object.freeze)])
  }

  /** Why to finish after a step, if a tool says so or a condition of `stopWhen` holds. @throws RUN_ERR_BAD_AGENT */
  stopReason(): Awaitable<FinishReason | undefined> {
    if (this.delivered?.isInterrupted) return 'stop'
    if (this.#stopped !== undefined || this.#plan.stopWhen.length === 0) return this.#stopped
    return this.#askConditions()
  }

  async #askConditions(): Promise<FinishReason | undefined> {
    // An earlier process has asked them, and continued.
    if (await this.journal?.hasStep(this.#opened)) return undefined
    for (const condition of this.#plan.stopWhen) {
      const result = await this.#host.guard.wait(Promise.resolve(condition({ steps: this.#steps })))
      requireBoolean(this.#subject, result)
      if (result) return 'stop'
    }
    return undefined
  }

  /** Checks an answer against the output. */
  check(answer: ModelAnswer): Awaitable<Checked> {
    // What a middleware has ended is no attempt at the output.
    const isEnded = answer.ended?.raw === ENDED_BY_MIDDLEWARE
    return this.#output === undefined || isEnded ? NOTHING : this.#checkBy(this.#output, answer)
  }

  async #checkBy(output: OutputCheck, { text }: ModelAnswer): Promise<Checked> {
    try {
      const correction = await this.#host.guard.wait(output.check(text))
      return correction === undefined ? { structured: { value: output.value } } : { correction }
    } catch (err) {
      return { fault: { err } }
    }
  }

  /** Asks the model to correct its answer. */
  askToCorrect(answer: ModelAnswer, correction: string): void {
    this.turn.askToCorrect(answer, correction)
    // The correction takes one more model call, whatever `maxSteps` is.
    this.#maxSteps++
  }

  /** Saves the turn. @throws RUN_ERR_STORE */
  save(): Awaitable<void> {
    const settling = this.delivered === undefined ? this.journal?.written() : this.#settle(this.delivered)
    return isPromise(settling)
      ? settling.then(() => this.turn.save(this.context))
      : this.turn.save(this.context)
  }

  async #settle(delivered: DeliveredTurn): Promise<void> {
    await this.journal?.written()
    await this.#host.guard.wait(delivered.settled())
  }

  /** The name of the agent or team in errors. */
  get #subject(): string {
    return nameOf(this.#host.kind, this.#host)
  }

  #changes(prepareStep: PrepareStep, isReplayed = false): Promise<StepChanges | undefined> {
    const { context, guard } = this.#host
    const state = {
      stepNumber: this.#opened,
      steps: this.#steps,
      model: this.#model,
      messages: copyPlain(splitSystem(this.turn.prompt)[1]),
      context,
      isReplayed,
      onEnd: guard.onRelease.bind(guard)
    }
    return guard.wait(prepareChanges(this.#subject, prepareStep, state))
  }

  #toolsOf(
    changes: StepChanges | undefined,
    given: ToolSet | undefined,
    toolChoice: ToolChoice | undefined
  ): ToolSet {
    if (changes === undefined) return given ?? this.#tools
    return prefixErrors(this.#subject, () => {
      const tools = given ?? this.#toolsFor(changes)
      if (typeof toolChoice === 'object') requireTool(tools, toolChoice.toolName)
      return tools
    })
  }

  #modelOf(changes: StepChanges | undefined): LanguageModelV4 {
    const chosen = changes?.model
    return this.#withStop(
      chosen === undefined ? this.#model : prefixErrors(this.#subject, () => prepareModel(chosen))
    )
  }

  #withStop(model: LanguageModelV4): LanguageModelV4 {
    const { stop } = this.context
    return stop === undefined || stop.length === 0 ? model : stopAt(model, stop)
  }

  #toolsFor({ tools, activeTools }: StepChanges): ToolSet {
    const all =
      tools === undefined
        ? this.#tools
        : addClientTools(createToolSet([...tools, ...this.#plan.fixedTools]), this.#tools.clientTools)
    return activeTools === undefined ? all : all.only(activeTools)
  }
}

const NOTHING: Checked = {}
const NEW_STEP: ResumedStep = {}
const NO_OVERRIDES: StepOverrides = {}
const NO_PARTS: readonly YieldedPart[] = Object.freeze([])
const NO_STEPS: readonly StepResult[] = Object.freeze([])
const nothing = () => {}

// Behind what an earlier process did before the step.
function withBefore(resumed: ResumedStep, notices: readonly YieldedPart[]): ResumedStep {
  return notices.length === 0 ? resumed : { ...resumed, before: [...(resumed.before ?? []), ...notices] }
}

/**
 * The messages that join a run, as its loop reads them: before a step, and the same ones again when the step is replayed. Middleware
 * checks each first, and may change or drop it.
 */
class LoopSteering {
  readonly #steering: Steering
  readonly #turn: Turn
  readonly #hooks: RunHooks | undefined
  // How many a step has read; those behind them wait for the next step.
  #read = 0
  #checked: SteeringMessage[] = []
  #notices: YieldedPart[] = []

  constructor(steering: Steering, turn: Turn, hooks: RunHooks | undefined) {
    this.#steering = steering
    this.#turn = turn
    this.#hooks = hooks?.checksMessages === true ? hooks : undefined
  }

  /** How many were read so far. */
  get taken(): number {
    return this.#hooks === undefined ? this.#steering.taken : this.#read
  }

  /** Reads what has joined; after the last step nothing could. Returns the parts about it, if it is checked. */
  read(isLast: boolean): Promise<readonly YieldedPart[]> | undefined {
    if (this.#hooks !== undefined) return this.#readChecked(this.#hooks, isLast)
    for (const { message } of this.#steering.take()) this.#turn.join(message)
    if (isLast) this.#steering.close()
    return undefined
  }

  async #readChecked(hooks: RunHooks, isLast: boolean): Promise<readonly YieldedPart[]> {
    const checking = this.#check(hooks, this.#steering.take())
    if (isLast) this.#steering.close()
    await checking
    this.#read = this.#steering.taken
    for (const message of this.#checked.splice(0)) this.#turn.join(message)
    return this.takeNotices()
  }

  // Those that were taken last.
  async #check(hooks: RunHooks, taken: readonly { readonly message: SteeringMessage }[]): Promise<void> {
    let number = this.#steering.taken - taken.length
    for (const { message } of taken) {
      const { input, block, parts } = await hooks.enter({
        input: message,
        number: ++number,
        alone: false,
        accepts: (changed) => requireInput(MESSAGE, changed)
      })
      this.#notices.push(...parts)
      if (block === undefined) this.#checked.push(input as SteeringMessage)
    }
  }

  /** Reads what the step had read that an earlier process recorded. */
  recall({ steered, isRecorded }: LoopJournal, index: number): Promise<void> | undefined {
    const steers = this.#steering.take(steered)
    // The beginning of a turn is recorded with what its first step read.
    const isJoined = index === 0 && isRecorded
    if (this.#hooks !== undefined) return this.#recallChecked(this.#hooks, steers, isJoined)
    if (!isJoined) for (const { message } of steers) this.#turn.join(message)
    return undefined
  }

  async #recallChecked(
    hooks: RunHooks,
    steers: readonly { readonly message: SteeringMessage }[],
    isJoined: boolean
  ): Promise<void> {
    await this.#check(hooks, steers)
    this.#read = this.#steering.taken
    const checked = this.#checked.splice(0)
    if (!isJoined) for (const message of checked) this.#turn.join(message)
  }

  /** As `Steering.close`; messages that middleware drops are none. */
  close(): Awaitable<boolean> {
    if (this.#steering.close()) return true
    return this.#hooks !== undefined && this.#closeChecked(this.#hooks)
  }

  async #closeChecked(hooks: RunHooks): Promise<boolean> {
    while (!this.#steering.close()) {
      await this.#check(hooks, this.#steering.take())
      if (this.#checked.length > 0) return false
    }
    return true
  }

  takeNotices(): readonly YieldedPart[] {
    return this.#notices.splice(0)
  }
}

/**
 * What the caller of a run says of its tool calls. `auto` and `none` apply to each step; `required` to each until one of the caller's
 * tools is called, if it serves any; else it and a certain tool apply to the first step, since the model would never answer.
 */
class CallerChoice {
  readonly #choice: ToolChoice
  readonly #clientTools: readonly string[]
  readonly #isMember: boolean
  #isOver = false

  private constructor(choice: ToolChoice, { clientTools, source }: RunContext) {
    this.#choice = choice
    this.#clientTools = clientTools.map(({ name }) => name)
    this.#isMember = source.length > 0
  }

  /** The choice of a run's caller; undefined if it has made none. */
  static of(context: RunContext): CallerChoice | undefined {
    const { toolChoice } = context
    return toolChoice === undefined ? undefined : new CallerChoice(toolChoice, context)
  }

  /** The choice for the next step; undefined: as the agent decides. @throws RUN_ERR_BAD_INPUT if the step has no such tool */
  forStep({ forModel = [] }: Pick<ToolSet, 'forModel'>): ToolChoice | undefined {
    if (this.#isOver) return undefined
    const choice = this.#choice
    if (typeof choice === 'string') return choice
    const names = forModel.map(({ name }) => name)
    const fault = findChoiceFault(choice, names)
    if (fault === undefined) return choice
    // Another member may have it.
    if (this.#isMember) return undefined
    throw new RUN_ERR_BAD_INPUT(`toolChoice: ${fault}`)
  }

  /** A step is over, and has called these tools. */
  endStep(called: readonly { readonly toolName: string }[]): void {
    if (this.#choice === 'auto' || this.#choice === 'none') return
    const goesOn = this.#choice === 'required' && this.#clientTools.length > 0
    this.#isOver ||= !goesOn || called.some(({ toolName }) => this.#clientTools.includes(toolName))
  }
}
