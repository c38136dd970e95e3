import type { OpenTranscription, TurnTranscription } from '../../speech/transcription.ts'
import type { EngineHost } from '../engine.ts'

/** The words of one turn, whose id may be known later than the first of them. */
export class TurnWords {
  /** The words so far. */
  text = ''
  #itemId: string | undefined
  readonly #transcription: TurnTranscription
  readonly #notify: EngineHost['notify']
  readonly #onEnd: () => void

  constructor(open: OpenTranscription, notify: EngineHost['notify'], onEnd: () => void) {
    this.#notify = notify
    this.#onEnd = onEnd
    this.#transcription = open({
      words: (text, final, language) => this.#take(text, final, language),
      fail: (error) => this.#fail(error)
    })
  }

  /** Undefined until the turn has a name. */
  get itemId(): string | undefined {
    return this.#itemId
  }

  name(itemId: string): void {
    this.#itemId = itemId
  }

  push(samples: Int16Array): void {
    this.#transcription.push(samples)
  }

  read(audio: Uint8Array, mimeType: string): void {
    this.#transcription.read(audio, mimeType)
  }

  end(): void {
    this.#transcription.end()
  }

  stop(): void {
    this.#transcription.stop()
    this.#onEnd()
  }

  #take(text: string, final: boolean, language: string | undefined): void {
    if (!final && text === this.text) return
    this.text = text
    const itemId = this.#itemId
    // Before a turn has a name, no client knows of it.
    if (itemId !== undefined)
      this.#notify({ type: 'transcript', itemId, text, final, ...(language !== undefined && { language }) })
    if (final) this.#onEnd()
  }

  #fail(error: unknown): void {
    const itemId = this.#itemId
    if (itemId !== undefined) this.#notify({ type: 'transcript.failed', itemId, error })
    this.#onEnd()
  }
}
