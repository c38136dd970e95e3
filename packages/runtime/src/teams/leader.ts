import type { LanguageModelV4CallOptions, LanguageModelV4Message } from '@ai-sdk/provider'
import type { AcceptedMessage, FinishReason, RunContext, RunInput, YieldedPart } from '@svc/registry'
import { isPromise, requireInput } from '@svc/registry/kit'
import type { RunGuard } from '../guards/run-guard.ts'
import { interleave, type PartChannel } from '../children/part-channel.ts'
import type { RunEvents } from '../events/run-events.ts'
import type { ModelAnswer } from '../models/model-answer.ts'
import { ModelStep, type ModelCalls } from '../models/model-step.ts'
import { takeMessage } from '../sessions/take-message.ts'
import { Turn } from '../sessions/turn.ts'
import { callTools } from '../tool-calls/call-tools.ts'
import type { ToolSet } from '../tools/tool-set.ts'
import type { LeaderPlan } from './plan-team.ts'

/** What the leader of a run has of it. */
export interface LeaderRun {
  readonly name: string
  readonly context: RunContext
  readonly guard: RunGuard
  readonly events: RunEvents
}

/** The leader of one run: a model that is asked, and the turn of the team's conversation. */
export class Leader {
  readonly turn: Turn
  readonly #plan: LeaderPlan
  readonly #calls: ModelCalls
  #index = 0

  private constructor(plan: LeaderPlan, turn: Turn, calls: ModelCalls) {
    this.#plan = plan
    this.turn = turn
    this.#calls = calls
  }

  /** Begins the turn: what the leader is told, history and input. @throws RUN_ERR_BAD_INPUT, RUN_ERR_URL_…, RUN_ERR_STORE */
  static async begin(plan: LeaderPlan, run: LeaderRun, input: RunInput, task: string): Promise<Leader> {
    const { name, context, guard, events } = run
    const { registry, sessionOwner: owner, sessionId, stores } = context
    requireInput({}, input)
    const store = plan.sessions ?? stores.sessions
    const turn = new Turn(store, { registry, owner, kind: 'team', name, sessionId }, guard)
    try {
      const resolved = plan.resolveModel(context)
      const model = isPromise(resolved) ? await guard.wait(resolved) : resolved
      const message = await takeMessage(input as AcceptedMessage, { model, guard, urls: plan.urls })
      await turn.lock()
      const instructions = await guard.wait(Promise.resolve(instruct(plan, context)))
      await turn.begin({
        ...message,
        system: [instructions, task].filter(Boolean).join('\n\n'),
        isNew: context.newSession,
        limits: plan.history,
        model
      })
      const callIds = new Set<string>()
      return new Leader(plan, turn, { model, context, guard, events, retry: plan.retry, callIds })
    } catch (err) {
      turn.end()
      throw err
    }
  }

  /** Whether the model may be asked once more. */
  get mayAsk(): boolean {
    return this.#index < this.#plan.maxSteps
  }

  /** Asks the model, with something to read behind the conversation where it is given. @throws as `ModelStep.next` */
  async *ask(
    options: Omit<LanguageModelV4CallOptions, 'prompt' | 'abortSignal'> = {},
    ...more: LanguageModelV4Message[]
  ): AsyncGenerator<YieldedPart, ModelAnswer, void> {
    const index = this.#index++
    const step = new ModelStep(
      this.#calls,
      {
        ...this.#plan.settings,
        ...options,
        prompt: [...this.turn.prompt, ...more],
        abortSignal: this.#calls.guard.signal
      },
      index
    )
    for (let part; (part = await step.next()) !== undefined;) yield part
    yield { type: 'step', index, usage: step.answer.usage }
    return step.answer
  }

  /**
   * Asks until there is an answer: calls of tools are served, those of members tell their parts on the channel. Keeps the
   * turn, and gives why it ended. @throws as `ask` and `save`
   */
  async *converse(
    tools: ToolSet,
    channel: PartChannel,
    ...more: LanguageModelV4Message[]
  ): AsyncGenerator<YieldedPart, FinishReason, void> {
    const { context, guard, events } = this.#calls
    const calls = { tools, approval: 'never', sandbox: undefined, context, guard, events } as const
    let finishReason: FinishReason = 'max-steps'
    while (this.mayAsk) {
      const answer = yield* this.ask(tools.forModel && { tools: tools.forModel }, ...more)
      const { toolCalls } = answer
      const outcomes = toolCalls.length === 0 ? [] : yield* interleave(callTools(toolCalls, calls), channel)
      this.turn.add(answer, outcomes)
      if (toolCalls.length > 0) continue
      finishReason = answer.finishReason
      break
    }
    await this.save()
    return finishReason
  }

  /** Keeps the turn. @throws RUN_ERR_STORE */
  async save(): Promise<void> {
    await this.turn.save(this.#calls.context)
  }
}

function instruct({ instructions }: LeaderPlan, context: RunContext) {
  return typeof instructions === 'function' ? instructions(context) : instructions
}
