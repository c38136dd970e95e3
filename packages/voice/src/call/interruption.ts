import type { UserTurn } from '../engines/engine.ts'
import type { CallScope } from './call-scope.ts'

/** What an interruption does to the response on the air. */
export interface InterruptionHost {
  /** Stops the playback for now; false if no response is on the air. */
  hold(): boolean
  /** Resumes it. */
  release(): void
  /** Ends the response where it was held. */
  confirm(): void
  /** Ends a question of the call, but not the answer that waits for it. */
  skip(): void
}

/**
 * The user speaks while an answer plays. The playback stops at once, but the answer ends only with the first words: noise and coughs are
 * false alarms, after which it is resumed.
 */
export class Interruption {
  readonly #scope: CallScope
  readonly #host: InterruptionHost
  /** The turn to come that has stopped the playback. */
  #held: string | undefined
  #timer: NodeJS.Timeout | undefined
  /** Speech that lasts long enough, but has too few words so far. */
  #candidate: string | undefined
  #isSpeaking = false

  constructor(scope: CallScope, host: InterruptionHost) {
    this.#scope = scope
    this.#host = host
  }

  /** The user has spoken for long enough to interrupt. */
  speak(itemId: string): void {
    const { interrupt } = this.#scope.plan
    if (interrupt === undefined || this.#scope.settings.turns?.interrupt === false) return
    clearTimeout(this.#timer)
    this.#isSpeaking = true
    if (this.#held !== undefined) {
      this.#held = itemId
      return
    }
    this.#candidate = itemId
    if (interrupt.words === 0) this.#hold(itemId)
  }

  /** A response to these turns begins, while the user may already speak again. */
  begin(turns: readonly UserTurn[] = []): void {
    const { interrupt } = this.#scope.plan
    // Engines that answer audio have the words of a turn later than its answer.
    if (turns.some(({ itemId }) => itemId === this.#candidate)) this.#candidate = undefined
    if (this.#isSpeaking && this.#candidate !== undefined && interrupt?.words === 0)
      this.#hold(this.#candidate)
  }

  /** The user has said something; `final` if that was all of the turn. */
  words(itemId: string, text: string, final: boolean): void {
    const words = text.trim()
    const { interrupt } = this.#scope.plan
    if (words !== '' && interrupt !== undefined) {
      const isEnough = interrupt.words === 0 || words.split(/\s+/).length >= interrupt.words
      if (itemId === this.#candidate && isEnough) this.#hold(itemId)
      if (this.#held === itemId && isEnough) this.#confirm()
    }
    if (final) this.silence(itemId)
  }

  /** The user has stopped; the words may still come. */
  stop(itemId: string): void {
    this.#isSpeaking = false
    if (this.#held === itemId) this.#wait(this.#scope.plan.interrupt?.resume ?? 0)
  }

  /** A turn of the user is over. An engine that answers audio needs no words of it. */
  turn(itemId: string): void {
    if (this.#held !== itemId) return
    if (this.#scope.engine.answersAudio) this.#confirm()
    else this.#wait(this.#scope.plan.interrupt?.resume ?? 0)
  }

  /** What the user says answers a question of the call. */
  answer(): void {
    this.end()
    this.#host.skip()
  }

  /** No more words will come. */
  silence(itemId: string): void {
    if (this.#candidate === itemId) this.#candidate = undefined
    if (this.#held === itemId) this.#resume()
  }

  /** The response on the air has ended for another reason. */
  end(): void {
    clearTimeout(this.#timer)
    this.#held = undefined
    this.#candidate = undefined
  }

  #hold(itemId: string): void {
    if (this.#held === undefined && this.#host.hold()) this.#held = itemId
  }

  #wait(ms: number): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#resume(), ms)
  }

  // Words may still come, and then interrupt.
  #resume(): void {
    clearTimeout(this.#timer)
    this.#held = undefined
    this.#host.release()
  }

  #confirm(): void {
    this.end()
    this.#host.confirm()
  }
}
