import { Alignment } from '../speech/alignment.ts'
import { toSpeakable } from '../speech/speakable.ts'

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
