import type { LanguageModelV4, LanguageModelV4Message, LanguageModelV4Prompt } from '@ai-sdk/provider'
import {
  codeOf,
  andThen,
  defined,
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
import type { CompactionPlaces, KeptMessage } from '../context/plan-compaction.ts'
import { hasSystem } from '../context/prompt-places.ts'
import { toSituationMessage, toSummary } from '../context/situation.ts'
import type { RunGuard } from '../guards/guard.ts'
import { wellFormed } from '../json/json.ts'
import { appendMessage, restorePrompt } from '../models/prompt-content.ts'
import type { ModelAnswer, ModelToolCall } from '../models/model-answer.ts'
import type { ToolOutcome } from '../tool-calls/tool-outcome.ts'
import {
  cutHistory,
  LOAD_BOUNDS,
  MAX_LOADED,
  readHistory,
  type History,
  type HistoryPlan,
  type SaidMessage
} from './history.ts'
import {
  pushHistory,
  toResultOutput,
  toSessionInput,
  toSessionStep,
  toUserMessage,
  type AssistantMessage
} from './to-prompt.ts'

export type { AssistantMessage } from './to-prompt.ts'

const NONE: History = { summary: undefined, messages: [], hidden: 0 }
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
  readonly limits: Pick<HistoryPlan, 'maxMessages' | 'maxTokens' | 'countTokens' | 'compact'>
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
  /** Left out if the prompt has neither a summary nor messages that stand for none or several of the session. */
  readonly history?: HistoryRecord
}

/** How the prompt of a turn stands for messages of its session. */
interface HistoryRecord {
  readonly summary?: string
  readonly hidden: number
  /** How many messages of the session those of the prompt stand for that do not stand for one, by their places. */
  readonly sizes: readonly (readonly [place: number, size: number])[]
}

/** One turn of a conversation: locks the session until it ends, and collects its messages until it is saved. */
export class Turn {
  readonly #store: SessionStore | undefined
  readonly #key: SessionKey
  readonly #holder: string
  readonly #guard: RunGuard
  readonly #messages: SessionMessage[] = []
  #prompt: LanguageModelV4Message[] = []
  // Of how many messages of the session each message of the prompt is made.
  #sizes: number[] = []
  // Messages of the session that the history does not show.
  #hidden = 0
  #summary: string | undefined
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

  /** What stands in the prompt in the place of earlier messages. */
  get summary(): string | undefined {
    return this.#summary
  }

  /** The number of messages of the session that these of the prompt stand for. */
  sizeOf(from: number, to: number): number {
    return this.#sizes.slice(from, Math.max(from, to)).reduce((sum, size) => sum + size, 0)
  }

  /** True if it has text of an answer, or tool calls. */
  get isAnswered(): boolean {
    return this.#messages.some(
      (message) => message.role === 'assistant' && (message.text !== '' || message.toolCalls !== undefined)
    )
  }

  /** Locks the session, once. @throws RUN_ERR_STORE */
  lock(): Awaitable<void> {
    const store = this.#store
    if (store === undefined || this.#unlock !== undefined) return
    const unlocking = this.#call(() => store.lock(this.#key, this.#guard.signal, this.#holder))
    const hold = (unlock: () => void) => void (this.#unlock = unlock)
    return andThen(unlocking, hold)
  }

  /** Loads the history of the locked session, and adds the user's message. @throws RUN_ERR_STORE */
  begin(start: TurnStart): Awaitable<void> {
    const { kept, system, isNew, limits, words, situation } = start
    this.#words = words
    this.#push(this.#prompt, { role: 'system', content: system }, 0)
    const history = kept === undefined ? (isNew ? NONE : this.#load(limits)) : readHistory(kept)
    // After the first read of the session: it is the slowest where the store is far.
    const saying = situation?.(andThen(history, ({ messages }) => messages))
    return saying !== undefined || isPromise(history) || history.messages.some(showsUrls)
      ? this.#recall(history, saying, start)
      : this.#take(history, noUrls, undefined, start)
  }

  async #recall(
    loading: Awaitable<History>,
    saying: Promise<string | undefined> | undefined,
    start: TurnStart
  ): Promise<void> {
    const [history, situation] = await Promise.all([loading, saying])
    const showsAny = history.messages.some(showsUrls)
    const supports = showsAny ? await this.#guard.wait(urlSupportOf(start.model)) : noUrls
    await this.#take(history, supports, situation, start)
  }

  #take(
    { summary, messages, hidden }: History,
    supports: UrlSupport,
    situation: string | undefined,
    { message, kept }: TurnStart
  ): Awaitable<void> {
    this.#hidden = hidden
    if (summary !== undefined) this.#summarise(this.#prompt, summary)
    if (messages.length > 0)
      pushHistory(messages, supports, (each, size) => this.#push(this.#prompt, each, size))
    if (message !== undefined) {
      this.#push(this.#prompt, toUserMessage(message.shown), 1)
      this.#situate(situation)
      return this.ask(message.input)
    }
    if (kept?.at(-1)?.role === 'user') this.#situate(situation)
    // The newest models refuse an answer at the end.
    if (kept !== undefined && this.#prompt.at(-1)?.role === 'assistant')
      this.#append(0, toUserMessage(CONTINUE))
  }

  #situate(situation: string | undefined): void {
    if (situation !== undefined) this.#push(this.#prompt, toSituationMessage(situation), 0)
  }

  #summarise(prompt: LanguageModelV4Message[], text: string): void {
    this.#summary = text
    this.#push(prompt, { role: 'user', content: [toSummary(text)] }, 0)
  }

  #push(prompt: LanguageModelV4Message[], message: LanguageModelV4Message, size: number): void {
    appendMessage(prompt, message)
    while (this.#sizes.length < prompt.length) this.#sizes.push(0)
    if (size > 0 && prompt.length > 0) this.#sizes[prompt.length - 1]! += size
  }

  /** The newest messages of the session that the prompt shows after a compaction. */
  keptBy(asked: number, places: CompactionPlaces): number {
    const from = firstKept(asked, places)
    return this.sizeOf(from, this.#prompt.length) + (from < asked ? this.#hidden : 0)
  }

  /**
   * Leaves messages out of the prompt, and has the session know it.
   * @param asked the place of the message to be answered
   * @param text the summary of what is left out; default: the one that there is
   */
  compact(asked: number, places: CompactionPlaces, kept: readonly KeptMessage[], text = this.#summary): void {
    const [prompt, sizes] = [this.#prompt, this.#sizes]
    const begin = Number(hasSystem(prompt))
    const [from, end] = [firstKept(asked, places), prompt.length]
    const keeps = this.keptBy(asked, places)
    const cut = places.results > 0 ? this.sizeOf(Math.max(places.results, from), end) : undefined
    const compacted: LanguageModelV4Message[] = []
    this.#sizes = []
    const old = this.#summary
    for (const { at, message } of kept) {
      if (at === begin && old !== undefined) {
        if (text !== undefined) this.#summarise(compacted, text)
        this.#push(compacted, withoutFirstPart(message), sizes[at]!)
        continue
      }
      if (at >= begin && compacted.length === begin && text !== undefined) this.#summarise(compacted, text)
      this.#push(compacted, message, sizes[at]!)
    }
    this.#prompt = compacted
    this.#messages.push({ role: 'summary', ...defined({ text }), keeps, ...defined({ cut }) })
    // The session has it behind the message that is the last one now.
    this.#sizes[this.#sizes.length - 1]! += 1
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
    const sizes = [...this.#sizes.entries()].filter(([at, size]) => size !== this.#usualSize(at))
    const isPlain = sizes.length === 0 && this.#hidden === 0 && this.#summary === undefined
    return {
      prompt: this.#prompt,
      messages: [...this.#messages],
      ...(!isPlain && { history: { hidden: this.#hidden, sizes, ...defined({ summary: this.#summary }) } })
    }
  }

  /** Begins the locked turn as another process began it. */
  restore({ prompt, messages, history }: TurnRecord): void {
    this.#prompt = restorePrompt(prompt)
    this.#sizes = this.#prompt.map((_, at) => this.#usualSize(at))
    for (const [at, size] of history?.sizes ?? []) this.#sizes[at] = size
    this.#hidden = history?.hidden ?? 0
    this.#summary = history?.summary
    this.#messages.push(...messages)
  }

  #usualSize(at: number): number {
    return at === 0 && hasSystem(this.#prompt) ? 0 : 1
  }

  /** Asks the model to correct an answer; neither the answer nor the request is stored. */
  askToCorrect(answer: ModelAnswer, request: string): void {
    this.#append(0, answer.toMessage(), toUserMessage(request))
  }

  /** Adds a message that joined the run. */
  join(message: SteeringMessage): void {
    const content = typeof message === 'string' ? message : [...message]
    this.#append(1, toUserMessage(content))
    this.#messages.push({ role: 'user', content })
  }

  /** Continues after an answer without tool calls: messages have joined the run. */
  goOn(answer: ModelAnswer): void {
    this.#append(1 + answer.providerOutcomes.length, answer.toMessage())
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
    // One for the answer, as every message of a prompt; the other outcomes are those of its own tools.
    this.#append(1, answer.toMessage(), { role: 'tool', content: results })
    this.#sizes[this.#sizes.length - 1]! += outcomes.length - 1
    this.#sizes[this.#sizes.length - 2]! += messages.length - outcomes.length - 1
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

  /** @param size as in `#push`, of each message */
  #append(size: number, ...messages: readonly LanguageModelV4Message[]): void {
    const prompt = [...this.#prompt]
    for (const message of messages) this.#push(prompt, message, size)
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

  #load(limits: TurnStart['limits']): Awaitable<History> {
    const store = this.#store
    if (store === undefined || limits.maxMessages === 0 || limits.maxTokens === 0) return NONE
    const loading = this.#call(() =>
      limits.compact === undefined
        ? store.load(this.#key, limits.maxMessages)
        : store.load(this.#key, MAX_LOADED, undefined, undefined, LOAD_BOUNDS)
    )
    return andThen(loading, (messages) => this.#cut(messages, limits))
  }

  #cut(stored: readonly SessionMessage[], limits: TurnStart['limits']): History {
    const history = readHistory(stored)
    // A store gives no more than it is asked for.
    if (limits.compact !== undefined) {
      this.#isHistoryCut = stored.length >= MAX_LOADED
      return history
    }
    const messages = cutHistory(history.messages, limits)
    this.#isHistoryCut = stored.length >= limits.maxMessages || messages[0] !== history.messages[0]
    return { ...history, messages }
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
  if (message.role === 'tool') return true
  // A summary has the words of the user.
  if (message.role !== 'assistant') return recordsInput
  const { text, interrupted, files, toolCalls } = message
  return text !== '' || interrupted === true || files !== undefined || toolCalls !== undefined
}

// Of the messages that a session has in the same order: that to be answered is one only if all steps stay.
function firstKept(asked: number, { history, steps }: CompactionPlaces): number {
  return steps > asked + 1 ? steps : history
}

function withoutFirstPart(message: LanguageModelV4Message): LanguageModelV4Message {
  return message.role === 'user' ? { ...message, content: message.content.slice(1) } : message
}

function showsUrls(message: SaidMessage): boolean {
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

/** What agents and the leaders of teams take: no schema of their own. */
export const MESSAGE = {}

type Kept = Pick<RunContext, 'messages'>

/** True if a run without an input continues a conversation: one that ends with the results of tool calls, or with the beginning of an answer. */
export function isContinued(input: RunInput, { messages }: Kept): boolean {
  return input === undefined && messages !== undefined && messages.length > 0
}

/** What a run answers: its input, or else the user's message at the end of the conversation. */
export function askedIn(input: RunInput, { messages }: Kept): RunInput {
  if (input !== undefined) return input
  const last = messages?.at(-1)
  return last?.role === 'user' ? last.content : undefined
}

/** The text of the user's message that a run answers: its input, or else the last one of the conversation. */
export function questionOf(input: RunInput, { messages = [] }: Kept): string {
  if (input !== undefined) return textOfInput(input)
  const last = messages.findLast(({ role }) => role === 'user')
  return last?.role === 'user' ? textOfInput(last.content) : ''
}
