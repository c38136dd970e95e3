import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4Message,
  LanguageModelV4Prompt
} from '@ai-sdk/provider'
import {
  addUsage,
  ZERO_USAGE,
  type FinishReason,
  type RunContext,
  type Usage,
  type YieldedPart
} from '@svc/registry'
import { nameOf, prefixErrors } from '../checks/option-errors.ts'
import { interleave, type PartChannel } from '../children/part-channel.ts'
import type { RunEvents } from '../events/run-events.ts'
import type { RunGuard } from '../guards/run-guard.ts'
import type { ModelAnswer, ModelToolCall, ProviderCalls } from '../models/model-answer.ts'
import { ModelStep } from '../models/model-step.ts'
import { prepareModel } from '../models/model.ts'
import { OutputCheck } from '../output/output-format.ts'
import type { Turn } from '../sessions/turn.ts'
import type { ToolCalls } from '../tool-calls/call-tool.ts'
import { callTools } from '../tool-calls/call-tools.ts'
import type { ToolOutcome } from '../tool-calls/tool-outcome.ts'
import { addClientTools } from '../tools/client-tools.ts'
import { createToolSet, type ToolSet } from '../tools/tool-set.ts'
import type { LoopPlan } from './loop-plan.ts'
import { copyPlain, prepareChanges, requireBoolean, requireTool, splitSystem } from './step-changes.ts'
import {
  toModelChoice,
  type PrepareStep,
  type StepChanges,
  type StepResult,
  type ToolChoice
} from './steps.ts'

/** The run of a loop. */
interface LoopHost {
  readonly kind: 'agent' | 'team'
  readonly name: string
  readonly context: RunContext
  readonly guard: RunGuard
  readonly events: RunEvents
}

/** The state at the start of a loop. */
interface LoopState {
  readonly turn: Turn
  readonly model: LanguageModelV4
  readonly tools: ToolSet
  /** The sections after the instructions in the system prompt. */
  readonly sections: readonly (string | undefined)[]
}

/** Overrides for one step by the mode of a team. */
interface StepOverrides {
  readonly tools?: ToolSet
  readonly toolChoice?: ToolChoice
}

/** An open step: its model call, and the rules for its tool calls. */
export interface OpenStep {
  readonly index: number
  readonly step: ModelStep
  readonly toolCalls: Omit<ToolCalls, 'emit'>
}

/** The steps of one run: opens model calls, and records their answers and outcomes in the turn. */
export class ModelLoop {
  readonly turn: Turn
  /** Messages after the conversation, in every step but not in the session. */
  tail: readonly LanguageModelV4Message[] = []
  readonly #plan: LoopPlan
  readonly #host: LoopHost
  readonly #model: LanguageModelV4
  readonly #tools: ToolSet
  readonly #sections: LoopState['sections']
  readonly #output: OutputCheck | undefined
  // Frozen, for the functions of the app.
  #steps: readonly StepResult[] = Object.freeze([])
  readonly #callIds = new Set<string>()
  readonly #providerCalls: ProviderCalls = new Map()
  #opened = 0
  #maxSteps: number
  #usage: Usage = ZERO_USAGE

  constructor(plan: LoopPlan, host: LoopHost, { turn, model, tools, sections }: LoopState) {
    this.#plan = plan
    this.#host = host
    this.turn = turn
    this.#model = model
    this.#tools = tools
    this.#sections = sections
    this.#output = plan.output && new OutputCheck(plan.output)
    this.#maxSteps = plan.maxSteps
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
  async open(overrides: StepOverrides = {}): Promise<OpenStep> {
    const { context, guard, events } = this.#host
    const { settings, retry, approval, approvalTimeout, sandbox, ...plan } = this.#plan
    const changes = plan.prepareStep && (await this.#prepare(plan.prepareStep))
    const index = this.#opened++
    const toolChoice = overrides.toolChoice ?? changes?.toolChoice ?? plan.toolChoice
    const [tools, model] = prefixErrors(this.#subject, () =>
      this.#apply(changes, overrides.tools, toolChoice)
    )
    const options: LanguageModelV4CallOptions = {
      ...settings,
      ...(tools.forModel && { tools: tools.forModel }),
      ...(tools.forModel && toolChoice !== undefined && { toolChoice: toModelChoice(toolChoice) }),
      prompt: this.#promptFor(changes),
      abortSignal: guard.signal
    }
    const calls = {
      model,
      context,
      guard,
      events,
      retry,
      callIds: this.#callIds,
      providerCalls: this.#providerCalls,
      toolCallDeltas: plan.toolCallDeltas,
      tools
    }
    return {
      index,
      step: new ModelStep(calls, options, index),
      toolCalls: { tools, approval, approvalTimeout, sandbox, context, guard, events }
    }
  }

  /** Records the usage of a step. */
  end({ step }: OpenStep): YieldedPart {
    this.#usage = addUsage(this.#usage, step.answer.usage)
    return step.toPart()
  }

  /** Records a step with its outcomes: in the turn, and for the conditions of the next one. */
  record({ index, step: { answer } }: OpenStep, outcomes: readonly ToolOutcome<ModelToolCall>[]): void {
    this.turn.add(answer, outcomes)
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

  /** True if a condition of `stopWhen` holds. @throws RUN_ERR_BAD_AGENT unless it returns a boolean */
  async isStopped(): Promise<boolean> {
    for (const condition of this.#plan.stopWhen) {
      const result = await this.#host.guard.wait(Promise.resolve(condition({ steps: this.#steps })))
      requireBoolean(this.#subject, result)
      if (result) return true
    }
    return false
  }

  /**
   * Checks an answer against the output: its structured value, or `false` after asking for a correction.
   * @throws RUN_ERR_BAD_OUTPUT the second time
   */
  async check(answer: ModelAnswer): Promise<{ value: unknown } | false | undefined> {
    if (this.#output === undefined) return undefined
    const correction = await this.#host.guard.wait(this.#output.check(answer.text))
    if (correction === undefined) return { value: this.#output.value }
    this.turn.askToCorrect(answer, correction)
    // The correction takes one more model call, whatever `maxSteps` is.
    this.#maxSteps++
    return false
  }

  /** Saves the turn. @throws RUN_ERR_STORE */
  async save(): Promise<void> {
    await this.turn.save(this.#host.context)
  }

  /** The name of the agent or team in errors. */
  get #subject(): string {
    return nameOf(this.#host.kind, this.#host)
  }

  #prepare(prepareStep: PrepareStep): Promise<StepChanges | undefined> {
    const { context, guard } = this.#host
    const state = {
      stepNumber: this.#opened,
      steps: this.#steps,
      model: this.#model,
      messages: copyPlain(splitSystem(this.turn.prompt)[1]),
      context
    }
    return guard.wait(prepareChanges(this.#subject, prepareStep, state))
  }

  #apply(
    changes: StepChanges | undefined,
    given: ToolSet | undefined,
    toolChoice: ToolChoice | undefined
  ): [tools: ToolSet, model: LanguageModelV4] {
    const tools = given ?? this.#toolsFor(changes)
    if (changes !== undefined && typeof toolChoice === 'object') requireTool(tools, toolChoice.toolName)
    return [tools, changes?.model === undefined ? this.#model : prepareModel(changes.model)]
  }

  #toolsFor(changes: StepChanges | undefined): ToolSet {
    const { tools, activeTools } = changes ?? {}
    const all =
      tools === undefined
        ? this.#tools
        : addClientTools(createToolSet([...tools, ...this.#plan.fixedTools]), this.#tools.clientTools)
    return activeTools === undefined ? all : all.only(activeTools)
  }

  #promptFor(changes: StepChanges | undefined): LanguageModelV4Prompt {
    const { instructions, messages } = changes ?? {}
    const { prompt } = this.turn
    if (instructions === undefined && messages === undefined)
      return this.tail.length === 0 ? prompt : [...prompt, ...this.tail]
    const [system, rest] = splitSystem(prompt)
    const content = [instructions, ...this.#sections].filter(Boolean).join('\n\n')
    const own = instructions === undefined ? system : [{ role: 'system' as const, content }]
    return [...own, ...(messages ?? rest), ...this.tail]
  }
}

/** A turn of a conversation, from its beginning to its end. */
export interface Conversation {
  readonly begin: () => Promise<ModelLoop>
  /** The parts of members, whose usage then counts too. */
  readonly channel?: PartChannel
  /** Called with the text of the answer once the turn is saved. */
  readonly onAnswer?: (text: string) => void
  readonly close: () => void
}

/**
 * The only model-tool loop: model → tools → model … → answer → saved turn. A run that fails or is canceled saves nothing.
 * @throws RUN_ERR_MODEL_…, RUN_ERR_BAD_OUTPUT, RUN_ERR_STORE, the time-outs, the signal's reason
 */
export async function* converse(conversation: Conversation): AsyncGenerator<YieldedPart, void> {
  const { begin, channel, onAnswer, close } = conversation
  try {
    const loop = await begin()
    let finishReason: FinishReason = 'max-steps'
    let text = ''
    while (loop.mayStep) {
      const opened = await loop.open()
      const { step, toolCalls } = opened
      for (let part; (part = await step.next()) !== undefined;) yield part
      yield loop.end(opened)
      const { answer } = step
      if (answer.toolCalls.length > 0) {
        const calling = callTools(answer.toolCalls, toolCalls)
        loop.record(opened, yield* channel === undefined ? calling : interleave(calling, channel))
        if (!(await loop.isStopped())) continue
        finishReason = 'stop'
        break
      }
      const structured = await loop.check(answer)
      if (structured === false) continue
      if (structured !== undefined) yield { type: 'structured', value: structured.value }
      loop.record(opened, [])
      ;({ text, finishReason } = answer)
      break
    }
    await loop.save()
    if (text !== '') onAnswer?.(text)
    yield { type: 'finish', finishReason, ...(channel === undefined && { usage: loop.usage }) }
  } finally {
    close()
  }
}

function toStepCall({
  call,
  editedArgs,
  result,
  error
}: Pick<ToolOutcome, 'call' | 'editedArgs' | 'result' | 'error'>) {
  const { toolCallId, toolName, args } = call
  return { toolCallId, toolName, args: editedArgs ?? args, ...(error === undefined ? { result } : { error }) }
}
