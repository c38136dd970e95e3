import type { Sentence } from '../../speech/sentences.ts'

/** Audio that is made ahead of its turn: a sentence of the answer, or a text of the call itself. */
export class Utterance implements AsyncIterable<Int16Array> {
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
