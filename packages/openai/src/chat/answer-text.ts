import type { PartOf } from '@svc/registry'
import type { TextEvent, VoidEvent } from './completion-event.ts'
import { Passages } from './passages.ts'
import { readValue } from './read-value.ts'

/** What the agent says and thinks in one completion: the texts of its steps are passages of one text. */
export class AnswerText {
  // Text is held back: only what is the value at the end counts.
  readonly #isValue: boolean
  readonly #text = new Passages()
  readonly #reasoning = new Passages()
  #held: string[] = []
  // Characters said in the turn of a call, and in its last step.
  #said = 0
  #saidInStep = 0

  /** @param isValue true if the answer is a JSON value */
  constructor(isValue: boolean) {
    this.#isValue = isValue
  }

  /** Characters of the answer. */
  get length(): number {
    return this.#text.length
  }

  /** Continues the passage under way; false if it takes more than that. */
  extend(text: string): boolean {
    if (this.#isValue || text === '' || !this.#text.extend(text)) return false
    this.#count(text)
    return true
  }

  say(text: string): TextEvent[] {
    if (text === '') return []
    this.#count(text)
    if (!this.#isValue) return [{ type: 'text', text: this.#text.add(text) }]
    this.#held.push(text)
    return []
  }

  think(text: string): TextEvent[] {
    return text === '' ? [] : [{ type: 'reasoning', text: this.#reasoning.add(text) }]
  }

  /** A step begins; if it is repeated, what its earlier attempt said is void. */
  beginStep({ index, attempt }: PartOf<'step.start'>): VoidEvent[] {
    this.#held = []
    if (attempt > 1) this.#said -= this.#saidInStep
    this.#saidInStep = 0
    if (attempt > 1)
      return [
        { type: 'void', kept: this.#text.restart(index), keptReasoning: this.#reasoning.restart(index) }
      ]
    this.#text.begin(index)
    this.#reasoning.begin(index)
    return []
  }

  /** A turn of a call is over: what was spoken of it is its beginning, or all of it. */
  endTurn(spoken: string): (TextEvent | VoidEvent)[] {
    const events: (TextEvent | VoidEvent)[] = []
    if (spoken.length !== this.#said && spoken.length !== this.#saidInStep) {
      this.#held = []
      const kept = this.#text.restartTurn()
      events.push({ type: 'void', kept, keptReasoning: this.#reasoning.length }, ...this.say(spoken))
    }
    this.#said = this.#saidInStep = 0
    this.#text.beginTurn()
    return events
  }

  /** The run has ended: the value that was held back, or that of a runnable which has said nothing. */
  end(structured: unknown): TextEvent[] {
    const isSilent = this.length === 0 && structured !== null && structured !== undefined
    const text = this.#isValue
      ? readValue(this.#held.join(''), structured)
      : isSilent
        ? JSON.stringify(structured)
        : ''
    return text === '' ? [] : [{ type: 'text', text: this.#text.add(text) }]
  }

  #count({ length }: string): void {
    this.#said += length
    this.#saidInStep += length
  }
}
