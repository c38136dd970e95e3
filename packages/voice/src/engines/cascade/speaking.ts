import { Alignment, SentenceSplitter, toSpeakable, type Sentence } from '../../speech/sentences.ts'
import type { EngineHost } from '../engine.ts'

/** Audio that is made ahead of its turn: a sentence of the answer, or a text of the call itself. */
class Utterance implements AsyncIterable<Int16Array> {
  readonly of: 'answer' | 'say'
  readonly sentence: Sentence
  readonly #make: (speech: string, signal: AbortSignal) => AsyncIterable<Int16Array>
  readonly #end = new AbortController()
  readonly #pieces: Int16Array[] = []
  #state: 'waiting' | 'making' | 'made' = 'waiting'
  #failure: { readonly error: unknown } | undefined
  #wake: (() => void) | undefined

  /** @param make synthesizes a text */
  constructor(
    of: Utterance['of'],
    sentence: Sentence,
    make: (speech: string, signal: AbortSignal) => AsyncIterable<Int16Array>
  ) {
    this.of = of
    this.sentence = sentence
    this.#make = make
  }

  /** Begins to make the audio; safe to call twice. */
  start(): void {
    if (this.#state !== 'waiting') return
    this.#state = 'making'
    void this.#run()
  }

  /** Ends it: no more audio comes. */
  stop(): void {
    this.#state = 'made'
    this.#pieces.length = 0
    this.#end.abort()
    this.#wake?.()
  }

  /** The audio as it is made. @throws the error of the speech model */
  async *[Symbol.asyncIterator](): AsyncGenerator<Int16Array, void> {
    this.start()
    for (;;) {
      const piece = this.#pieces.shift()
      if (piece !== undefined) yield piece
      else if (this.#failure !== undefined) throw this.#failure.error
      else if (this.#state === 'made') return
      else await new Promise<void>((resolve) => (this.#wake = resolve))
    }
  }

  async #run(): Promise<void> {
    const { speech } = this.sentence
    try {
      if (speech !== '')
        for await (const piece of this.#make(speech, this.#end.signal)) {
          if (this.#end.signal.aborted) return
          this.#pieces.push(piece)
          this.#wake?.()
        }
    } catch (error) {
      if (!this.#end.signal.aborted) this.#failure = { error }
    }
    this.#state = 'made'
    this.#wake?.()
  }
}

/** Sentences whose audio is made before the one before them is complete. */
const AHEAD = 1

/** What speaking needs of its engine. */
export interface SpeakingHost {
  readonly notify: EngineHost['notify']
  /** Hz of the audio. */
  readonly rate: number
  /** BCP 47. */
  readonly language: string | undefined
  /** Synthesizes a text, at `rate`. */
  speak(text: string, signal: AbortSignal): AsyncIterable<Int16Array>
  /** The audio of the answer cannot be made: the rest of it is discarded. */
  onError(error: unknown): void
}

/** Speaks an answer sentence by sentence while it is generated, and the texts of the call between them, in order. */
export class Speaking {
  readonly #host: SpeakingHost
  #splitter: SentenceSplitter
  #alignment = new Alignment()
  #queue: Utterance[] = []
  #isPumping = false
  #whenSpoken: PromiseWithResolvers<void> | undefined

  constructor(host: SpeakingHost) {
    this.#host = host
    this.#splitter = new SentenceSplitter(host.language)
  }

  /** Begins an answer. */
  begin(): void {
    this.#splitter = new SentenceSplitter(this.#host.language)
    this.#alignment = new Alignment()
  }

  /** Takes an increment of the answer. */
  push(delta: string): void {
    for (const sentence of this.#splitter.push(delta)) this.#add('answer', sentence)
  }

  /** Speaks what is left of the answer, though the sentence may not be complete. */
  flush(): void {
    for (const sentence of this.#splitter.flush()) this.#add('answer', sentence)
  }

  /** Speaks a text of the call. */
  say(text: string): void {
    this.#add('say', { text, speech: toSpeakable(text) })
  }

  /** Discards all that was not spoken. */
  stop(): void {
    for (const utterance of this.#queue.splice(0)) utterance.stop()
    this.#splitter = new SentenceSplitter(this.#host.language)
    this.#checkSpoken()
  }

  /** Resolves once the audio of the answer so far is made, or was discarded. */
  spoken(): Promise<void> {
    this.#whenSpoken ??= Promise.withResolvers()
    const { promise } = this.#whenSpoken
    this.#checkSpoken()
    return promise
  }

  /** The text of the answer in the first milliseconds of its audio. */
  textAt(ms: number): string {
    return this.#alignment.textAt(ms)
  }

  #add(of: Utterance['of'], sentence: Sentence): void {
    this.#queue.push(new Utterance(of, sentence, (speech, signal) => this.#host.speak(speech, signal)))
    for (const utterance of this.#queue.slice(0, 1 + AHEAD)) utterance.start()
    if (!this.#isPumping) void this.#pump()
  }

  async #pump(): Promise<void> {
    this.#isPumping = true
    for (let next; (next = this.#queue[0]) !== undefined;) {
      for (const utterance of this.#queue.slice(0, 1 + AHEAD)) utterance.start()
      await this.#speak(next)
      if (this.#queue[0] === next) this.#queue.shift()
      this.#checkSpoken()
    }
    this.#isPumping = false
  }

  async #speak(utterance: Utterance): Promise<void> {
    const { of, sentence } = utterance
    const { notify, rate } = this.#host
    const alignment = of === 'answer' ? this.#alignment : undefined
    alignment?.begin(sentence)
    try {
      for await (const samples of utterance) {
        alignment?.add(samples, rate)
        if (this.#queue[0] !== utterance) return
        notify({ type: 'audio', of, samples })
      }
      alignment?.end()
    } catch (error) {
      this.#fail(of, error)
    }
    if (of === 'say' && this.#queue[0] === utterance) notify({ type: 'said' })
  }

  #fail(of: Utterance['of'], error: unknown): void {
    if (of === 'say') return this.#host.notify({ type: 'error', error, fatal: false })
    this.#queue = this.#queue.filter((each) => {
      if (each.of === 'answer') each.stop()
      return each.of === 'say'
    })
    this.#host.onError(error)
  }

  #checkSpoken(): void {
    if (this.#queue.some(({ of }) => of === 'answer')) return
    this.#whenSpoken?.resolve()
    this.#whenSpoken = undefined
  }
}
