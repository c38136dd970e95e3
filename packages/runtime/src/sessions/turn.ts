import type { LanguageModelV4Message, LanguageModelV4Prompt } from '@ai-sdk/provider'
import {
  isPromise,
  RUN_ERR_STORE,
  type Awaitable,
  type MessageInput,
  type SessionKey,
  type SessionMessage,
  type SessionStore
} from '@svc/registry'
import type { RunGuard } from '../agents/run-guard.ts'
import type { ModelAnswer } from '../models/model-answer.ts'
import type { ToolOutcome } from '../tools/call-tool.ts'
import { cutHistory, type HistoryLimits } from './history.ts'
import { pushHistory, toResultOutput, toUserMessage } from './to-prompt.ts'
import { toSessionInput, toSessionStep } from './to-session.ts'

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

  /** Waits for the session, loads its history and adds the input. @throws RUN_ERR_STORE, RUN_ERR_BAD_INPUT */
  async begin(
    input: MessageInput,
    limits: HistoryLimits,
    system: LanguageModelV4Message | undefined,
    isNew: boolean
  ): Promise<void> {
    const user = toUserMessage(input)
    const unlocking = this.#ask(() => this.#store.lock(this.#key, this.#guard.signal))
    this.#unlock = isPromise(unlocking) ? await unlocking : unlocking
    if (system !== undefined) this.#prompt.push(system)
    if (!isNew) {
      const history = await this.#ask(() => this.#store.load(this.#key, limits.maxMessages))
      pushHistory(this.#prompt, cutHistory(history, limits))
    }
    this.#prompt.push(user)
    const said = toSessionInput(input)
    this.#said.push(isPromise(said) ? await said : said)
  }

  /** Adds one step: the model's answer, and what came of its tool calls. */
  add(answer: ModelAnswer, outcomes: readonly ToolOutcome[]): void {
    for (const { call, editedArgs } of outcomes)
      if (editedArgs !== undefined) call.promptPart.input = editedArgs
    this.#said.push(...toSessionStep(answer, outcomes))
    if (outcomes.length === 0) return
    const results = outcomes.map(({ call: { promptPart }, result, error }) => ({
      type: 'tool-result' as const,
      toolCallId: promptPart.toolCallId,
      toolName: promptPart.toolName,
      output: toResultOutput(result, error)
    }))
    this.#prompt = [...this.#prompt, answer.toMessage()!, { role: 'tool', content: results }]
  }

  /** Keeps the turn, once whatever the attempts of its run, member or step. @throws RUN_ERR_STORE */
  save(turnId: string): Awaitable<void> {
    const saving = this.#ask(() => this.#store.append(this.#key, turnId, this.#said))
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
