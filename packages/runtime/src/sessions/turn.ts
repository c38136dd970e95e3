import type { LanguageModelV4, LanguageModelV4Message, LanguageModelV4Prompt } from '@ai-sdk/provider'
import {
  isPromise,
  RUN_ERR_STORE,
  type Awaitable,
  type MessageInput,
  type RunContext,
  type SessionKey,
  type SessionMessage,
  type SessionStore
} from '@svc/registry'
import type { RunGuard } from '../guards/run-guard.ts'
import type { ModelAnswer, ModelToolCall } from '../models/model-answer.ts'
import { urlSupportOf } from '../files/url-support.ts'
import type { ToolOutcome } from '../tool-calls/tool-outcome.ts'
import { cutHistory, type HistoryLimits } from './history.ts'
import { pushHistory, toResultOutput, toUserMessage } from './to-prompt.ts'
import { toSessionInput, toSessionStep } from './to-session.ts'

/** What a turn begins with. */
export interface TurnStart {
  /** What the user says, as it is kept. */
  readonly input: MessageInput
  /** The same as the model is shown it. */
  readonly shown: MessageInput
  readonly system: string | undefined
  /** Whether there is no history to load. */
  readonly isNew: boolean
  readonly limits: HistoryLimits
  readonly model: LanguageModelV4
}

/** One turn of a conversation: holds its session while it goes on, and what both sides said until it is saved. */
export class Turn {
  readonly #store: SessionStore
  readonly #key: SessionKey
  readonly #guard: RunGuard
  readonly #said: SessionMessage[] = []
  #prompt: LanguageModelV4Message[] = []
  #unlock: (() => void) | undefined

  constructor(store: SessionStore, key: SessionKey, guard: RunGuard) {
    this.#store = store
    this.#key = key
    this.#guard = guard
  }

  /** What the model is to be shown next. A prompt that was given to a model is never changed. */
  get prompt(): LanguageModelV4Prompt {
    return this.#prompt
  }

  /** Waits until the session is free for this turn. @throws RUN_ERR_STORE */
  async lock(): Promise<void> {
    const unlocking = this.#ask(() => this.#store.lock(this.#key, this.#guard.signal))
    this.#unlock = isPromise(unlocking) ? await unlocking : unlocking
  }

  /** Loads the history of the session, which is locked, and adds what the user says. @throws RUN_ERR_STORE */
  async begin({ input, shown, system, isNew, limits, model }: TurnStart): Promise<void> {
    if (system !== undefined) this.#prompt.push({ role: 'system', content: system })
    if (!isNew) {
      const history = cutHistory(
        await this.#ask(() => this.#store.load(this.#key, limits.maxMessages)),
        limits
      )
      const supports = history.some(showsUrls) ? await this.#guard.wait(urlSupportOf(model)) : () => false
      pushHistory(this.#prompt, history, supports)
    }
    this.#prompt.push(toUserMessage(shown))
    const said = toSessionInput(input)
    this.#said.push(isPromise(said) ? await said : said)
  }

  /** Shows the model an answer of its own and what is wrong with it; neither is kept. */
  askToMend(answer: ModelAnswer, request: string): void {
    const message = answer.toMessage()
    this.#prompt = [...this.#prompt, ...(message === undefined ? [] : [message]), toUserMessage(request)]
  }

  /** Adds one step: the model's answer, and what came of its tool calls. */
  add(answer: ModelAnswer, outcomes: readonly ToolOutcome<ModelToolCall>[]): void {
    for (const { call, editedArgs } of outcomes)
      if (editedArgs !== undefined) call.promptPart.input = editedArgs
    this.#said.push(...toSessionStep(answer, outcomes))
    if (outcomes.length === 0) return
    const results = outcomes.map(({ call: { promptPart }, result, error, content }) => ({
      type: 'tool-result' as const,
      toolCallId: promptPart.toolCallId,
      toolName: promptPart.toolName,
      output: toResultOutput(result, error, content)
    }))
    this.#prompt = [...this.#prompt, answer.toMessage()!, { role: 'tool', content: results }]
  }

  /**
   * Keeps the turn without the caller's keys, once whatever the attempts of its run, member or step.
   * @throws RUN_ERR_STORE
   */
  save(context: Pick<RunContext, 'idempotencyKey' | 'redact'>): Awaitable<void> {
    const { idempotencyKey } = context
    const saving = this.#ask(() => this.#store.append(this.#key, idempotencyKey, context.redact(this.#said)))
    if (isPromise(saving)) return saving.then(() => this.end())
    this.end()
  }

  /** Lets the next turn of the session begin; what is not saved by now is not kept. */
  end(): void {
    this.#unlock?.()
    this.#unlock = undefined
  }

  #ask<T>(question: () => Awaitable<T>): Awaitable<T> {
    try {
      const answer = question()
      return isPromise(answer) ? this.#wait(answer) : answer
    } catch (err) {
      return this.#fail(err)
    }
  }

  // A store that does not answer must not hold the run.
  async #wait<T>(answer: Promise<T>): Promise<T> {
    try {
      return await this.#guard.wait(answer)
    } catch (err) {
      return this.#fail(err)
    }
  }

  #fail(err: unknown): never {
    this.#guard.check()
    throw new RUN_ERR_STORE({ cause: err })
  }
}

function showsUrls(message: SessionMessage): boolean {
  return (
    message.role === 'user' &&
    typeof message.content !== 'string' &&
    message.content.some((part) => 'url' in part)
  )
}
