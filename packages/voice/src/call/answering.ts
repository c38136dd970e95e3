import type { AudioFormat, YieldedPart } from '@svc/contract'
import type { AnswerRequest, VoiceEngineEvent } from '../engines/engine.ts'
import { sendError, type CallScope } from './call-scope.ts'
import { Response, type Sayings } from './response.ts'
import type { EndedTurn } from './user-turns.ts'

type Event<T extends VoiceEngineEvent['type']> = Extract<VoiceEngineEvent, { type: T }>
type Status = 'completed' | 'interrupted' | 'canceled' | 'failed'

/** Milliseconds for a client that reports playback to correct where it was stopped. */
const TRUNCATE_GRACE = 250

/** What an answer reports. */
export interface AnsweringHost {
  /** It begins to speak. */
  speaks(): void
  /** It will send nothing more, but the engine may still be busy with it. */
  silent(answering: Answering): void
  /** Both are over. */
  ended(answering: Answering): void
}

/**
 * One request to the engine, or one text that the call speaks itself, from its beginning until all was played or stopped and the engine
 * has finished.
 */
export class Answering {
  readonly response: Response
  /** Undefined for a text of the call itself. */
  readonly request: AnswerRequest | undefined
  readonly #scope: CallScope
  readonly #host: AnsweringHost
  readonly #turns: readonly EndedTurn[]
  #status: Status = 'completed'
  #error: unknown
  /** Texts of the call that are being spoken. */
  #sayings = 0
  #said: Sayings | undefined
  #isGenerated = false
  #isSilent = false
  #isEngineDone: boolean
  #heldAt: number | undefined
  #isTruncated = false
  #cutTimer: NodeJS.Timeout | undefined
  #playback = { ms: 0, text: '' }
  #isEnded = false

  constructor(
    scope: CallScope,
    host: AnsweringHost,
    format: AudioFormat,
    asked: { request: AnswerRequest; turns: readonly EndedTurn[] } | undefined
  ) {
    this.#scope = scope
    this.#host = host
    this.request = asked?.request
    this.#turns = asked?.turns ?? []
    this.#isEngineDone = asked === undefined
    this.#isGenerated = asked === undefined
    this.response = new Response(scope, format, asked?.request.modality ?? 'audio')
  }

  /** True while it may still send something. */
  get isOnAir(): boolean {
    return !this.#isSilent
  }

  begin(): void {
    this.response.open()
    if (this.request !== undefined) this.#scope.engine.respond(this.request)
  }

  say(text: string): void {
    if (this.#isSilent) return
    this.#sayings++
    if (this.request === undefined) this.#said = this.response.addSaying(text)
    this.#scope.engine.say(text)
  }

  /** Takes the samples of a text of the call, which also come as `audio`. @param rate Hz */
  saying(samples: Int16Array, rate: number): void {
    if (!this.#isSilent) this.#said?.addAudio(samples, rate)
  }

  said(): void {
    this.#said?.said()
    this.#sayings = Math.max(this.#sayings - 1, 0)
    this.#check()
  }

  text(delta: string): void {
    if (!this.#isSilent) this.response.addText(delta)
  }

  /** Takes audio in the output format. */
  audio(bytes: Uint8Array, of: Event<'audio'>['of']): void {
    if (this.#isSilent || bytes.length === 0) return
    this.#host.speaks()
    this.response.addAudio(bytes, of)
  }

  part(part: YieldedPart): void {
    this.response.addPart(part)
  }

  /** The engine has generated all of the answer. */
  generated(): void {
    this.#isGenerated = true
    this.#check()
  }

  /** The engine has finished; without `generated` there is no answer, or only a part of it. */
  finished({ error }: Event<'response.end'>): void {
    this.#isEngineDone = true
    if (error !== undefined && this.#status === 'completed') {
      this.#status = 'failed'
      this.#error = error
      // The client has been notified of the end already.
      if (!this.response.isOpen) sendError(this.#scope, error)
    }
    this.#isGenerated = true
    this.#check()
    if (this.#isSilent) this.#end()
  }

  /** Stops the playback for now. */
  hold(): void {
    if (this.#heldAt !== undefined || this.#isSilent) return
    this.#heldAt = performance.now()
    this.response.playout.hold()
    const { itemId, heardMs, itemText } = this.response.playback
    if (this.response.playout.hasBegun)
      void this.#scope.link.send({ type: 'clear', itemId, heardMs, text: itemText })
  }

  /** Resumes the playback. */
  release(): void {
    if (this.#heldAt === undefined || this.#cutTimer !== undefined || this.#isSilent) return
    this.#heldAt = undefined
    this.#isTruncated = false
    this.response.playout.release()
  }

  /** Discards what is left to be played; the answer continues. */
  skip(): void {
    this.#heldAt = undefined
    this.response.playout.skip()
    this.#check()
  }

  /** Ends it. A client that reports playback has a moment to report where. */
  cut(status: 'interrupted' | 'canceled'): void {
    if (this.#isSilent || this.#cutTimer !== undefined) return
    this.hold()
    this.#status = status
    const left = (this.#heldAt ?? 0) + TRUNCATE_GRACE - performance.now()
    const { link } = this.#scope
    const mayCorrect = link.reportsPlayback && this.response.playout.hasBegun && !this.#isTruncated
    if (mayCorrect && left > 0) this.#cutTimer = setTimeout(() => this.#finishCut(), left)
    else this.#finishCut()
  }

  /** The client has stopped the playback itself. */
  truncate(itemId: string, heardMs: number): void {
    if (this.#isSilent) return
    const wasHeld = this.#heldAt !== undefined
    this.#heldAt ??= performance.now()
    this.#isTruncated = true
    this.response.playout.hold()
    this.response.playout.truncate(itemId, heardMs)
    // What was held already is a false alarm until the user says something.
    if (!wasHeld) this.cut('interrupted')
    else if (this.#cutTimer !== undefined) this.#finishCut()
  }

  /** Ends it at once: the call is over. */
  close(): void {
    if (!this.#isSilent) {
      this.response.playout.hold()
      this.#status = 'interrupted'
      this.#finishCut()
    }
  }

  /** What was played of the answer, once it is silent. */
  get playback(): { ms: number; text: string } {
    return this.#playback
  }

  get status(): Status {
    return this.#status
  }

  get error(): unknown {
    return this.#error
  }

  get turns(): readonly EndedTurn[] {
    return this.#turns
  }

  // Once all is generated the client gets the end of the response; the engine, when all is played.
  #check(): void {
    if (!this.#isGenerated || this.#sayings > 0 || this.#isSilent || this.#cutTimer !== undefined) return
    this.response.close(this.#status, this.#error)
    this.response.playout.whenPlayed(() => this.#played())
  }

  #played(): void {
    if (this.#sayings > 0 || this.#isSilent) return
    this.#measure()
    this.#isSilent = true
    if (!this.#isEngineDone) this.#scope.engine.delivered(this.#playback)
    else if (this.#status === 'failed') this.#scope.engine.interrupt(this.#playback)
    this.#host.silent(this)
    if (this.#isEngineDone) this.#end()
  }

  #finishCut(): void {
    clearTimeout(this.#cutTimer)
    this.#measure()
    this.#isSilent = true
    this.response.cut(this.#status === 'canceled' ? 'canceled' : 'interrupted')
    // A text of the call itself may still be in the making.
    if (!this.#isEngineDone || this.#sayings > 0 || this.#error !== undefined)
      this.#scope.engine.interrupt(this.#playback)
    this.#sayings = 0
    this.#host.silent(this)
    if (this.#isEngineDone) this.#end()
  }

  #measure(): void {
    const { answerMs, text } = this.response.playback
    this.#playback = { ms: answerMs, text }
  }

  #end(): void {
    if (this.#isEnded) return
    this.#isEnded = true
    this.#host.ended(this)
  }
}
