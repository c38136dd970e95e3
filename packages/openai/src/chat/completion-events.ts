import {
  fileOfAudio,
  RunView,
  VoidableList,
  ZERO_USAGE,
  type NumberedPart,
  type PartError,
  type PartOf,
  type RunFile,
  type Usage
} from '@svc/contract'
import { toRunnableId, type FileUrl } from '@svc/surface'
import { AnswerText } from './answer-text.ts'
import type { CompletionEvent } from './completion-message.ts'
import type { Annotation, ChatFinishReason, CompletionUsage, ToolCall } from './completion-schemas.ts'

/** The ids of Chat Completions, all made of the log's, so that each reader gets the same. */

/** The id of the completion that begins after a part of a run; 0 for its first one. */
function toCompletionId(runId: string, after: number): string {
  return after === 0 ? `chatcmpl-${runId}` : `chatcmpl-${runId}_${after}`
}

const INPUT = /^(.+)\.(\d{1,9})$/
const CALL = /^call_(.+)_(\d{1,9})$/

/**
 * The id of a tool call as clients get it: that of the input which the run waits for, since providers may use an id of a call again. It
 * has letters, digits and `_` only, and fewer than 40 characters, as all providers require of the histories that clients send.
 * @param isEnd true if the run ends with the call: the id then leads to no run that waits
 */
function toCallId(inputId: string, isEnd = false): string {
  const [, runId, number] = INPUT.exec(inputId) ?? []
  return runId === undefined ? inputId : `${isEnd ? 'last' : 'call'}_${runId}_${number}`
}

/** The input that an id of a tool call is made of; undefined if it was not made here, or its run has ended with it. */
export function readCallId(callId: string): string | undefined {
  const [, runId, number] = CALL.exec(callId) ?? []
  return runId === undefined ? undefined : `${runId}.${number}`
}

/** A call of a client's tool that the run waits for. */
export interface WaitingCall {
  readonly inputId: string
  /** That of the log. */
  readonly toolCallId: string | undefined
  readonly call: ToolCall
}

const REASONS: Readonly<Record<Exclude<PartOf<'finish'>['finishReason'], 'canceled'>, ChatFinishReason>> = {
  stop: 'stop',
  other: 'stop',
  length: 'length',
  'max-steps': 'length',
  'content-filter': 'content_filter'
}

/**
 * Makes the events of the completions of a run from its parts, in order. A completion ends where the run ends, or where it only waits for
 * inputs and a call of a client's tool is among them; the next part begins the next one. All of it depends on the log only.
 */
export class CompletionEvents {
  /** The run so far. */
  readonly run = new RunView()
  readonly #fileUrl: FileUrl
  readonly #isValue: boolean
  readonly #callReason: 'tool_calls' | 'function_call'
  readonly #endsAtCall: boolean
  readonly #waiting = new Map<string, WaitingCall>()
  #text: AnswerText
  #annotations = new VoidableList<Annotation>()
  #after = 0
  #created = 0
  #usageBefore = ZERO_USAGE
  #isOver = false

  /**
   * @param isValue true if the answer is a JSON value: then it is one text, at the end
   * @param areFunctions true if the client calls its tools functions
   * @param endsAtCall true if the run ends where it waits for a call
   */
  constructor(fileUrl: FileUrl, isValue: boolean, areFunctions = false, endsAtCall = false) {
    this.#fileUrl = fileUrl
    this.#isValue = isValue
    this.#callReason = areFunctions ? 'function_call' : 'tool_calls'
    this.#endsAtCall = endsAtCall
    this.#text = new AnswerText(isValue)
  }

  /** The id of the completion that the last part belongs to. */
  get id(): string {
    return toCompletionId(this.#runId, this.#after)
  }

  get model(): string {
    const { start } = this.run
    return start === undefined ? '' : toRunnableId(start.kind, start.name)
  }

  /** When it began, in seconds since the epoch. */
  get created(): number {
    return this.#created
  }

  /** True if the completion is over. */
  get isOver(): boolean {
    return this.#isOver
  }

  /** The calls that the run waits for. */
  get waiting(): readonly WaitingCall[] {
    return [...this.#waiting.values()]
  }

  get #runId(): string {
    return this.run.start?.runId ?? ''
  }

  /** From now on the run does not wait for these inputs, even if its log has no answer yet. */
  markAnswered(inputIds: readonly string[]): void {
    for (const inputId of inputIds) this.#waiting.delete(inputId)
  }

  /** Continues the passage under way with an increment of its text; false if it takes more than that. */
  extend(seq: number, text: string): boolean {
    if (this.#isOver || !this.#text.extend(text)) return false
    this.run.seq = seq
    return true
  }

  /** Takes the next part; returns the events of the completion that it belongs to. */
  add(part: NumberedPart): CompletionEvent[] {
    const { run } = this
    const events: CompletionEvent[] = this.#isOver && run.end === undefined ? [this.#beginNext(part)] : []
    run.add(part)
    events.push(...(part.source?.length ? this.#ofMember(part) : this.#own(part)))
    if (!this.#isOver && this.#waiting.size > 0 && run.isWaiting) {
      this.#isOver = true
      const calls = this.waiting.map(({ call }) => call)
      events.push(this.#end(this.#callReason, calls))
    }
    return events
  }

  #own(part: NumberedPart): CompletionEvent[] {
    switch (part.type) {
      case 'start':
        this.#created = toSeconds(part.at)
        return [{ type: 'begin' }]
      case 'text':
        return this.#text.say(part.text)
      case 'reasoning':
        return this.#text.think(part.text)
      case 'step.start':
        this.#annotations.begin(part)
        return this.#text.beginStep(part)
      case 'voice.turn':
        return this.#text.endTurn(part.text)
      case 'finish':
        return this.#finish(part)
      case 'error':
        return this.#fail(part.error)
      default:
        return this.#anywhere(part)
    }
  }

  #ofMember(part: NumberedPart): CompletionEvent[] {
    if (part.type === 'step.start') this.#annotations.begin(part)
    else if (part.type === 'finish') this.#annotations.finish(part)
    return this.#anywhere(part)
  }

  #anywhere(part: NumberedPart): CompletionEvent[] {
    switch (part.type) {
      case 'input.request':
        if (part.kind === 'tool') this.#waiting.set(part.inputId, toWaiting(part, this.#endsAtCall))
        break
      case 'input.response':
        this.#waiting.delete(part.inputId)
        break
      case 'citation':
        if (part.url !== undefined) this.#cite(part, part.url, part.title ?? part.url)
        break
      case 'file':
        this.#citeFile(part)
        break
      case 'voice.audio':
        if (part.role === 'assistant') this.#citeFile(fileOfAudio(part))
        break
      default:
    }
    return []
  }

  #cite(place: { readonly source?: readonly string[] | undefined }, url: string, title: string): void {
    const { length } = this.#text
    this.#annotations.add(place, {
      type: 'url_citation',
      url_citation: { url, title, start_index: length, end_index: length }
    })
  }

  #citeFile(file: RunFile): void {
    const url = this.#fileUrl(file, this.#runId)
    if (url !== undefined) this.#cite(file, url, file.filename ?? file.mimeType)
  }

  #finish({ finishReason, structured }: PartOf<'finish'>): CompletionEvent[] {
    if (finishReason === 'canceled')
      return this.#fail({ code: 'RUN_ERR_CANCELED', message: 'The run was canceled' })
    this.#close()
    return [...this.#text.end(structured), this.#end(REASONS[finishReason], [])]
  }

  #fail({ code, message }: Pick<PartError, 'code' | 'message'>): CompletionEvent[] {
    this.#close()
    return [{ type: 'fail', error: { code, message } }]
  }

  // No answer reaches an ended run.
  #close(): void {
    this.#isOver = true
    this.#waiting.clear()
  }

  #end(reason: ChatFinishReason, calls: readonly ToolCall[]): CompletionEvent {
    const usage = toCompletionUsage(this.run.usage, this.#usageBefore)
    return { type: 'end', reason, calls, annotations: this.#annotations.values, usage }
  }

  #beginNext({ at }: NumberedPart): CompletionEvent {
    this.#after = this.run.seq
    this.#created = toSeconds(at)
    this.#isOver = false
    this.#usageBefore = this.run.usage
    this.#text = new AnswerText(this.#isValue)
    this.#annotations = new VoidableList()
    return { type: 'begin' }
  }
}

function toWaiting(
  { inputId, toolCallId, toolName = '', args }: PartOf<'input.request'>,
  isEnd: boolean
): WaitingCall {
  const call: ToolCall = {
    id: toCallId(inputId, isEnd),
    type: 'function',
    function: { name: toolName, arguments: JSON.stringify(args ?? {}) }
  }
  return { inputId, toolCallId, call }
}

// The tokens between two counts of a run.
function toCompletionUsage(until: Usage, since: Usage): CompletionUsage {
  const difference = (of: (usage: Usage) => number | undefined) =>
    Math.max(0, (of(until) ?? 0) - (of(since) ?? 0))
  return {
    prompt_tokens: difference((usage) => usage.promptTokens),
    completion_tokens: difference((usage) => usage.completionTokens),
    total_tokens: difference((usage) => usage.totalTokens),
    prompt_tokens_details: { cached_tokens: difference((usage) => usage.cachedPromptTokens) },
    completion_tokens_details: { reasoning_tokens: difference((usage) => usage.reasoningTokens) }
  }
}

function toSeconds(at: number): number {
  return Math.floor(at / 1_000)
}
