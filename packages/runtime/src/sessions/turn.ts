import type { LanguageModelV4, LanguageModelV4Message, LanguageModelV4Prompt } from '@ai-sdk/provider'
import {
  codeOf,
  andThen,
  isPromise,
  textOfInput,
  type AcceptedMessage,
  type Awaitable,
  type ContentPart,
  type FileContentPart,
  type MessageInput,
  type RunContext,
  type RunInput,
  type SessionKey,
  type SessionMessage,
  type SessionStore,
  type SteeringMessage
} from '@svc/contract'
import { RUN_ERR_STORE } from '@svc/contract/errors'
import { hasUrls, resolveUrls, urlSupportOf, type UrlOptions, type UrlSupport } from '../files/urls.ts'
import { toSituationMessage } from '../context/situation.ts'
import type { RunGuard } from '../guards/guard.ts'
import { wellFormed } from '../json/json.ts'
import { appendMessage, restorePrompt } from '../models/prompt-content.ts'
import type { ModelAnswer, ModelToolCall } from '../models/model-answer.ts'
import type { ToolOutcome } from '../tool-calls/tool-outcome.ts'
import { cutHistory, pairUp, type HistoryLimits } from './history.ts'
import {
  pushHistory,
  toResultOutput,
  toSessionInput,
  toSessionStep,
  toUserMessage,
  type AssistantMessage
} from './to-prompt.ts'

export type { AssistantMessage } from './to-prompt.ts'

const NONE: readonly SessionMessage[] = []
const noUrls: UrlSupport = () => false
const CONTINUE = 'Continue your last message from where it ends, without repeating it.'

/** A user's message. */
export interface TakenMessage {
  /** As the session stores it. */
  readonly input: MessageInput
  /** As the model receives it. */
  readonly shown: MessageInput
}

/** The start of a turn. */
export interface TurnStart {
  /** The user's message; undefined if the kept conversation ends with what the model continues. */
  readonly message: TakenMessage | undefined
  /** The conversation so far, if the caller keeps it; the limits do not cut it. */
  readonly kept: readonly SessionMessage[] | undefined
  /** Left out if it is blank. */
  readonly system: string
  /** True if the session has no history to load. */
  readonly isNew: boolean
  readonly limits: HistoryLimits
  readonly model: LanguageModelV4
  /** The text of the user's message, if it is known only later; undefined if there was none. The turn is saved with it. Never rejects. */
  readonly words?: Promise<string | undefined> | undefined
  /** Reads what stands behind the words of the user, while the history is read. */
  readonly situation?:
    | ((history: Awaitable<readonly SessionMessage[]>) => Promise<string | undefined>)
    | undefined
}

type SavingContext = Pick<RunContext, 'idempotencyKey' | 'redact' | 'recordsInput'>

/** The beginning of a turn as JSON. */
export interface TurnRecord {
  readonly prompt: LanguageModelV4Prompt
  readonly messages: readonly SessionMessage[]
}

/** One turn of a conversation: locks the session until it ends, and collects its messages until it is saved. */
export class Turn {
  readonly #store: SessionStore | undefined
  readonly #key: SessionKey
  readonly #holder: string
  readonly #guard: RunGuard
  readonly #messages: SessionMessage[] = []
  #prompt: LanguageModelV4Message[] = []
  #isHistoryCut = false
  #words: TurnStart['words']
  #unlock: (() => void) | undefined

  /**
   * @param store undefined if the caller keeps the conversation: then nothing is locked, loaded or saved
   * @param holder as in `SessionStore.lock`
   */
  constructor(store: SessionStore | undefined, key: SessionKey, holder: string, guard: RunGuard) {
    this.#store = store
    this.#key = key
    this.#holder = holder
    this.#guard = guard
  }

  /** The next prompt. A prompt is never mutated once a model has received it. */
  get prompt(): LanguageModelV4Prompt {
    return this.#prompt
  }

  /** True if the limits have left out the beginning of the history: it begins elsewhere in each turn. */
  get isHistoryCut(): boolean {
    return this.#isHistoryCut
  }

  /** True if it has text of an answer, or tool calls. */
  get isAnswered(): boolean {
    return this.#messages.some(
      (message) => message.role === 'assistant' && (message.text !== '' || message.toolCalls !== undefined)
    )
  }

  /** Locks the session. @throws RUN_ERR_STORE */
  lock(): Awaitable<void> {
    const store = this.#store
    if (store === undefined) return
    const unlocking = this.#call(() => store.lock(this.#key, this.#guard.signal, this.#holder))
    const hold = (unlock: () => void) => void (this.#unlock = unlock)
    return andThen(unlocking, hold)
  }

  /** Loads the history of the locked session, and adds the user's message. @throws RUN_ERR_STORE */
  begin(start: TurnStart): Awaitable<void> {
    const { kept, system, isNew, limits, words, situation } = start
    this.#words = words
    appendMessage(this.#prompt, { role: 'system', content: system })
    const history = kept === undefined ? (isNew ? NONE : this.#load(limits)) : pairUp(kept)
    // After the first read of the session: it is the slowest where the store is far.
    const saying = situation?.(history)
    return saying !== undefined || isPromise(history) || history.some(showsUrls)
      ? this.#recall(history, saying, start)
      : this.#take(history, noUrls, undefined, start)
  }

  async #recall(
    loading: Awaitable<readonly SessionMessage[]>,
    saying: Promise<string | undefined> | undefined,
    start: TurnStart
  ): Promise<void> {
    const [history, situation] = await Promise.all([loading, saying])
    const supports = history.some(showsUrls) ? await this.#guard.wait(urlSupportOf(start.model)) : noUrls
    await this.#take(history, supports, situation, start)
  }

  #take(
    history: readonly SessionMessage[],
    supports: UrlSupport,
    situation: string | undefined,
    { message, kept }: TurnStart
  ): Awaitable<void> {
    if (history.length > 0) pushHistory(this.#prompt, history, supports)
    if (message !== undefined) {
      appendMessage(this.#prompt, toUserMessage(message.shown))
      this.#situate(situation)
      return this.ask(message.input)
    }
    if (kept?.at(-1)?.role === 'user') this.#situate(situation)
    // The newest models refuse an answer at the end.
    if (kept !== undefined && this.#prompt.at(-1)?.role === 'assistant') this.#append(toUserMessage(CONTINUE))
  }

  #situate(situation: string | undefined): void {
    if (situation !== undefined) appendMessage(this.#prompt, toSituationMessage(situation))
  }

  /** Adds the user's message to the session alone. */
  ask(input: MessageInput): Awaitable<void> {
    if (this.#store === undefined) return
    const stored = toSessionInput(input)
    const add = (message: SessionMessage) => void this.#messages.push(message)
    return andThen(stored, add)
  }

  /** The turn so far, to be restored by another process. */
  toRecord(): TurnRecord {
    return { prompt: this.#prompt, messages: [...this.#messages] }
  }

  /** Begins the locked turn as another process began it. */
  restore({ prompt, messages }: TurnRecord): void {
    this.#prompt = restorePrompt(prompt)
    this.#messages.push(...messages)
  }

  /** Asks the model to correct an answer; neither the answer nor the request is stored. */
  askToCorrect(answer: ModelAnswer, request: string): void {
    this.#append(answer.toMessage(), toUserMessage(request))
  }

  /** Adds a message that joined the run. */
  join(message: SteeringMessage): void {
    const content = typeof message === 'string' ? message : [...message]
    this.#append(toUserMessage(content))
    this.#messages.push({ role: 'user', content })
  }

  /** Continues after an answer without tool calls: messages have joined the run. */
  goOn(answer: ModelAnswer): void {
    this.#append(answer.toMessage())
  }

  /** Adds one step: the model's answer, and the outcomes of its tool calls. Returns the message of the answer, unless it is empty. */
  add(answer: ModelAnswer, outcomes: readonly ToolOutcome<ModelToolCall>[]): AssistantMessage | undefined {
    for (const { call, editedArgs } of outcomes)
      if (editedArgs !== undefined) call.promptPart.input = editedArgs
    const messages = toSessionStep(answer, outcomes)
    this.#messages.push(...messages)
    const [message] = messages as [AssistantMessage?]
    if (outcomes.length === 0) return message
    const results = outcomes.map(({ call: { promptPart }, result, error, content }) => ({
      type: 'tool-result' as const,
      toolCallId: promptPart.toolCallId,
      toolName: promptPart.toolName,
      output: toResultOutput(result, error, content)
    }))
    this.#append(answer.toMessage(), { role: 'tool', content: results })
    return message
  }

  /** Adds the text of an answer to the session alone. A message that stays empty is not saved. */
  addText(text: string): AssistantMessage {
    const message: AssistantMessage = { role: 'assistant', text }
    this.#messages.push(message)
    return message
  }

  /**
   * Saves the turn without the caller's keys, and only once even if its run, member or step is retried. Inputs that must not be
   * recorded are left out.
   * @throws RUN_ERR_STORE
   */
  save(context: SavingContext): Awaitable<void> {
    const saving = this.#call(() => this.#keep(context))
    if (isPromise(saving)) return saving.then(() => this.end())
    this.end()
  }

  /** Saves the turn of a run that has ended already. @throws the store's error */
  async saveLate(context: SavingContext): Promise<void> {
    await this.#keep(context)
    this.end()
  }

  #append(...messages: readonly LanguageModelV4Message[]): void {
    const prompt = [...this.#prompt]
    for (const message of messages) appendMessage(prompt, message)
    this.#prompt = prompt
  }

  #keep(context: SavingContext): Awaitable<void> {
    if (this.#store === undefined) return
    if (this.#words === undefined) return this.#write(this.#store, context)
    const store = this.#store
    return this.#words.then((words) => {
      const at = this.#messages.findIndex(({ role }) => role === 'user')
      if (at >= 0) this.#messages.splice(at, 1, ...(words === undefined ? [] : [toWords(words)]))
      return this.#write(store, context)
    })
  }

  #write(store: SessionStore, { idempotencyKey, redact, recordsInput }: SavingContext): Awaitable<void> {
    const messages = this.#messages.filter((message) => isSaved(message, recordsInput))
    return store.append(this.#key, idempotencyKey, redact(wellFormed(messages)))
  }

  /** Unlocks the session; discards unsaved messages. */
  end(): void {
    this.#unlock?.()
    this.#unlock = undefined
  }

  #load(limits: HistoryLimits): Awaitable<readonly SessionMessage[]> {
    const store = this.#store
    if (store === undefined) return NONE
    const loading = this.#call(() => store.load(this.#key, limits.maxMessages))
    return andThen(loading, (messages) => this.#cut(messages, limits))
  }

  #cut(messages: readonly SessionMessage[], limits: HistoryLimits): SessionMessage[] {
    const history = cutHistory(messages, limits)
    // A store gives no more than it is asked for.
    this.#isHistoryCut = messages.length >= limits.maxMessages || history[0] !== messages[0]
    return history
  }

  #call<T>(operation: () => Awaitable<T>): Awaitable<T> {
    try {
      const result = operation()
      return isPromise(result) ? this.#wait(result) : result
    } catch (err) {
      return this.#fail(err)
    }
  }

  // A store that does not answer must not block the run.
  async #wait<T>(result: Promise<T>): Promise<T> {
    try {
      return await this.#guard.wait(result)
    } catch (err) {
      return this.#fail(err)
    }
  }

  #fail(err: unknown): never {
    this.#guard.check()
    if (codeOf(err) === 'RUN_ERR_NO_TURN') throw err
    throw new RUN_ERR_STORE({ cause: err })
  }
}

function toWords(content: string): SessionMessage {
  return { role: 'user', content }
}

function isSaved(message: SessionMessage, recordsInput: boolean): boolean {
  if (message.role !== 'assistant') return recordsInput || message.role !== 'user'
  const { text, interrupted, files, toolCalls } = message
  return text !== '' || interrupted === true || files !== undefined || toolCalls !== undefined
}

function showsUrls(message: SessionMessage): boolean {
  return (
    message.role === 'user' &&
    typeof message.content !== 'string' &&
    message.content.some((part) => 'url' in part)
  )
}

/** Prepares a message for a model: reads uploaded files into memory, one at a time. */
export function loadFiles(message: AcceptedMessage): Awaitable<MessageInput> {
  if (typeof message === 'string') return message
  return message.some(isFile) ? load(message) : (message as MessageInput)
}

async function load(parts: readonly (ContentPart | FileContentPart)[]): Promise<MessageInput> {
  const loaded: ContentPart[] = []
  for (const part of parts) {
    if (!isFile(part)) {
      loaded.push(part)
      continue
    }
    const { file, ...rest } = part
    const chunks: Uint8Array[] = []
    for await (const chunk of file.stream()) chunks.push(chunk)
    loaded.push({ ...rest, data: Buffer.concat(chunks).toString('base64') })
  }
  return loaded
}

function isFile(part: ContentPart | FileContentPart): part is FileContentPart {
  return 'file' in part
}

/** The model that receives a message, and the limits for its files. */
export interface MessageReader {
  readonly model: LanguageModelV4
  readonly guard: RunGuard
  readonly urls: UrlOptions
}

/**
 * Returns a message as the session stores it and as the model receives it: reads files, and fetches the URLs that the model
 * does not fetch itself.
 * @throws RUN_ERR_URL_…, or the reason why the run must end
 */
export function takeMessage(input: AcceptedMessage, reader: MessageReader): Awaitable<TakenMessage> {
  const loading = loadFiles(input)
  if (typeof loading === 'string') return { input: loading, shown: loading }
  if (isPromise(loading) || hasUrls(loading)) return loadMessage(loading, reader)
  return { input: loading, shown: loading }
}

async function loadMessage(
  loading: Awaitable<MessageInput>,
  { model, guard, urls }: MessageReader
): Promise<TakenMessage> {
  const message = isPromise(loading) ? await guard.wait(loading) : loading
  if (typeof message === 'string' || !hasUrls(message)) return { input: message, shown: message }
  const supports = await guard.wait(urlSupportOf(model))
  return { input: message, shown: await resolveUrls(message, supports, urls, guard.signal) }
}

type Kept = Pick<RunContext, 'messages'>

/** True if a run without an input continues a conversation: one that ends with the results of tool calls, or with the beginning of an answer. */
export function isContinued(input: RunInput, { messages }: Kept): boolean {
  return input === undefined && messages !== undefined && messages.length > 0
}

/** The text of the user's message that a run answers: its input, or else the last one of the conversation. */
export function questionOf(input: RunInput, { messages = [] }: Kept): string {
  if (input !== undefined) return textOfInput(input)
  const last = messages.findLast(({ role }) => role === 'user')
  return last?.role === 'user' ? textOfInput(last.content) : ''
}
