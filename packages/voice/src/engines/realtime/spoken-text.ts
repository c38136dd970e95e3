import type { ResponseEvent, WantedResponse } from './response-queue.ts'

/** A text of the call that the model is asked to speak. */
export class SpokenText implements WantedResponse {
  readonly answers = false
  readonly modality = 'audio'
  readonly instructions: string
  readonly #onAudio: (itemId: string, base64: string) => void
  readonly #onEnd: (text: SpokenText) => void
  #hasBegun = false

  constructor(
    text: string,
    onAudio: (itemId: string, base64: string) => void,
    onEnd: (text: SpokenText) => void
  ) {
    this.instructions = `Say exactly this text, and nothing before or after it: ${JSON.stringify(text)}`
    this.#onAudio = onAudio
    this.#onEnd = onEnd
  }

  take(event: ResponseEvent): void {
    if (event.type !== 'audio-delta') return
    this.#hasBegun = true
    this.#onAudio(event.itemId, event.delta)
  }

  // What was spoken in part is not repeated.
  restart(): boolean {
    if (this.#hasBegun) this.end()
    return !this.#hasBegun
  }

  end(): void {
    this.#onEnd(this)
  }
}
