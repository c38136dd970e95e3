import { setTimeout as sleep } from 'node:timers/promises'
import type { UserTurn } from '../engine.ts'
import type { SpokenTurn } from './spoken-turn.ts'

// The session's message for a turn without a transcript.
const NO_WORDS = '[speech without a transcript]'

/** The words of turns that a model answers before they are transcribed. */
export class LateWords {
  readonly #turnOf: (itemId: string) => SpokenTurn | undefined
  readonly #timeout: number

  /** @param timeout milliseconds */
  constructor(turnOf: (itemId: string) => SpokenTurn | undefined, timeout: number) {
    this.#turnOf = turnOf
    this.#timeout = timeout
  }

  /** The words of these turns as one text; undefined without a turn. Never rejects. */
  async of(turns: readonly UserTurn[]): Promise<string | undefined> {
    if (turns.length === 0) return undefined
    const words = await Promise.all(turns.map((turn) => this.#wordsOf(turn)))
    return words.join('\n')
  }

  async #wordsOf({ itemId, text }: UserTurn): Promise<string> {
    if (text !== undefined) return text
    const turn = this.#turnOf(itemId)
    if (turn === undefined) return NO_WORDS
    const late = new AbortController()
    const timeout = sleep(this.#timeout, undefined, { signal: late.signal }).catch(() => undefined)
    try {
      return (await Promise.race([turn.words, timeout])) || NO_WORDS
    } finally {
      late.abort()
      // No answer depends on it any more.
      turn.audio = []
    }
  }
}
