import {
  addUsage,
  ZERO_USAGE,
  type AudioFormat,
  type Usage,
  type VoiceOutput,
  type YieldedPart
} from '@svc/contract'
import { Alignment, toSpeakable } from '../speech/sentences.ts'
import { newId, shownError, type CallScope } from './call-scope.ts'
import { Playout } from './playout.ts'
import type { SpokenOf } from './spoken-items.ts'

/** The texts that a call speaks itself in a response of their own, such as its greeting, and what of them was played when. */
export class Sayings {
  readonly #alignment = new Alignment()
  /** Texts without audio so far. */
  readonly #waiting: string[] = []
  #isSpeaking = false

  add(text: string): void {
    this.#waiting.push(text)
  }

  /** Takes audio of the first text that is not complete. @param rate Hz */
  addAudio(samples: Int16Array, rate: number): void {
    this.#begin()
    this.#alignment.add(samples, rate)
  }

  /** The audio of a text is complete. */
  said(): void {
    this.#begin()
    this.#alignment.end()
    this.#isSpeaking = false
  }

  /** What was spoken in the first milliseconds: whole words. */
  textAt(ms: number): string {
    return this.#alignment.textAt(ms)
  }

  #begin(): void {
    if (this.#isSpeaking) return
    this.#isSpeaking = true
    const text = this.#waiting.shift() ?? ''
    this.#alignment.begin({ text, speech: toSpeakable(text) })
  }
}

type ResponseStatus = Extract<VoiceOutput, { type: 'response.end' }>['status']

/** The call of a client's tool. */
export interface ClientToolCall {
  readonly inputId: string
  readonly toolCallId: string
  readonly toolName: string
  readonly args: unknown
}

interface OpenItem {
  readonly itemId: string
  readonly modality: 'audio' | 'text'
  /** Characters of the answer before it. */
  readonly textStart: number
}

/**
 * What the client receives of one answer: a response with an item, and another one for each time that the answer continues after tools
 * of the client. All of it shares one playout.
 */
export class Response {
  readonly playout: Playout
  readonly modality: 'audio' | 'text'
  readonly #scope: CallScope
  #responseId: string | undefined
  #item: OpenItem | undefined
  /** Of all items. */
  #text = ''
  #usage: Usage = ZERO_USAGE
  /** Where the text of each item begins. */
  readonly #starts = new Map<string, number>()
  #lastItem = ''
  #firstTokenAt: number | undefined
  #firstAudioAt: number | undefined
  #cut: 'interrupted' | 'canceled' | undefined
  #sayings: Sayings | undefined

  constructor(scope: CallScope, format: AudioFormat, modality: 'audio' | 'text') {
    this.#scope = scope
    this.modality = modality
    this.playout = new Playout(scope.link, format)
  }

  /** The item of the answer so far; empty without one. */
  get itemId(): string {
    return this.#lastItem
  }

  /** True if an item of this id is one of its answers. */
  owns(itemId: string): boolean {
    return this.#starts.has(itemId)
  }

  /** All text so far. */
  get text(): string {
    return this.#text
  }

  /** When the first token and the first audio came, by `performance.now()`. */
  get times(): { firstTokenAt: number | undefined; firstAudioAt: number | undefined } {
    return { firstTokenAt: this.#firstTokenAt, firstAudioAt: this.#firstAudioAt }
  }

  /** True between `response.start` and `response.end`. */
  get isOpen(): boolean {
    return this.#responseId !== undefined
  }

  /** Begins a response, unless one is open. */
  open(): string {
    if (this.#responseId === undefined) {
      const responseId = newId('resp')
      this.#responseId = responseId
      this.playout.send(() => ({ type: 'response.start', responseId }))
    }
    return this.#responseId
  }

  addText(delta: string): void {
    this.#firstTokenAt ??= performance.now()
    const { itemId } = this.#openItem()
    this.#text += delta
    const responseId = this.open()
    this.playout.send(() => ({ type: 'text', responseId, itemId, delta }))
  }

  /** Adds a text of the call itself to a response that has no answer. */
  addSaying(text: string): Sayings {
    const delta = this.#text === '' ? text : ` ${text}`
    this.addText(delta)
    this.#sayings ??= new Sayings()
    this.#sayings.add(delta)
    return this.#sayings
  }

  /** Takes audio in the output format. */
  addAudio(bytes: Uint8Array, of: SpokenOf): void {
    if (of === 'answer') this.#firstAudioAt ??= performance.now()
    this.#openItem()
    this.playout.write(bytes, of)
  }

  addPart(part: YieldedPart): void {
    if (part.type === 'step') this.#usage = addUsage(this.#usage, part.usage)
  }

  /** Has the client execute its tools: the response ends, and the answer continues in another one. */
  callClient(calls: readonly ClientToolCall[]): void {
    const responseId = this.open()
    this.#closeItem()
    for (const call of calls) {
      const itemId = newId('item')
      const previousItemId = this.#scope.order.place(itemId)
      this.playout.send(() => ({ type: 'tool.call', responseId, itemId, previousItemId, ...call }))
    }
    this.close('completed')
  }

  /** Ends the response, if one is open. */
  close(status: ResponseStatus, error?: unknown): void {
    this.#closeItem()
    const responseId = this.#responseId
    if (responseId === undefined) return
    const usage = this.#usage
    this.playout.send(() => ({
      type: 'response.end',
      responseId,
      // It may have been interrupted while its last audio waited.
      status: this.#cut ?? status,
      usage,
      ...(error !== undefined && { error: shownError(this.#scope, error) })
    }))
    this.#responseId = undefined
    this.#usage = ZERO_USAGE
  }

  /** Ends it early: what was not sent yet is discarded. */
  cut(status: 'interrupted' | 'canceled'): void {
    this.#cut = status
    this.playout.end()
    this.close(status)
  }

  /** What was played, with its text. */
  get playback(): { itemId: string; heardMs: number; answerMs: number; text: string; itemText: string } {
    const { itemId, heardMs, answerMs } = this.playout.cut
    const text = this.modality === 'text' ? this.#text : this.#scope.engine.textAt(answerMs)
    const itemText = this.#sayings?.textAt(heardMs) ?? text.slice(this.#starts.get(itemId) ?? 0)
    return { itemId, heardMs, answerMs, text, itemText }
  }

  /** The text of an item up to a time; of an answer, only while it is the last one that the engine made. */
  textOf(itemId: string, ms: number): string {
    if (this.#sayings !== undefined) return this.#sayings.textAt(ms)
    const text = this.#scope.engine.textAt(this.playout.answerMsAt(itemId, ms))
    return text.slice(this.#starts.get(itemId) ?? 0)
  }

  #openItem(): OpenItem {
    if (this.#item !== undefined) return this.#item
    const responseId = this.open()
    const itemId = newId('item')
    const { modality } = this
    const previousItemId = this.#scope.order.place(itemId)
    this.playout.send(() => ({ type: 'answer.start', responseId, itemId, previousItemId, modality }))
    this.playout.begin(itemId, responseId)
    this.#starts.set(itemId, this.#text.length)
    this.#lastItem = itemId
    this.#item = { itemId, modality, textStart: this.#text.length }
    return this.#item
  }

  #closeItem(): void {
    if (this.#item === undefined) return
    const { itemId, textStart } = this.#item
    const responseId = this.open()
    const text = this.#text.slice(textStart)
    const durationMs = this.playout.durationOf(itemId)
    this.playout.send(() => ({ type: 'answer.end', responseId, itemId, text, durationMs }))
    this.#item = undefined
  }
}
