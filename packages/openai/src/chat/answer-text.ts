import { TurnTexts, type PartOf } from '@svc/contract'
import type { TextEvent, VoidEvent } from './completion-message.ts'

const FENCED = /^\s*```(?:json)?\s*\n([\s\S]*?)\n\s*```\s*$/i

/**
 * The answer of a model that was asked for JSON: the text if it is JSON, without the fence that some models put around it; else the value
 * that the run has, else the text as it is.
 */
function readValue(text: string, structured: unknown): string {
  if (isJson(text)) return text
  const inner = FENCED.exec(text)?.[1]
  if (inner !== undefined && isJson(inner)) return inner
  return structured === null || structured === undefined ? text : JSON.stringify(structured)
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/** What separates the texts of two steps. */
const SEPARATOR = '\n\n'

/** Counts the characters of a text that steps add to, and separates what they add. */
class Passages {
  #length = 0
  // What the text was when a step began, by its index, and when the last turn of a call was over.
  readonly #marks = new Map<number, number>()
  #turn = 0
  #isOpen = false

  get length(): number {
    return this.#length
  }

  /** A step begins: what is added next is another passage. */
  begin(index: number): void {
    this.#marks.set(index, this.#length)
    this.#isOpen = false
  }

  /** A step begins again: returns how many characters are left of the text. */
  restart(index: number): number {
    this.#isOpen = false
    return (this.#length = Math.min(this.#length, this.#marks.get(index) ?? 0))
  }

  /** A turn of a call is over. */
  beginTurn(): void {
    this.#turn = this.#length
    this.#isOpen = false
  }

  /** The turn is void: returns how many characters are left of the text. */
  restartTurn(): number {
    this.#isOpen = false
    return (this.#length = this.#turn)
  }

  /** Adds to the passage under way; false if there is none. */
  extend(text: string): boolean {
    if (this.#isOpen) this.#length += text.length
    return this.#isOpen
  }

  /** Adds to the text, and returns what is added: the text itself, after a separator if it begins another passage. */
  add(text: string): string {
    const added = this.#isOpen || this.#length === 0 ? text : SEPARATOR + text
    this.#isOpen = true
    this.#length += added.length
    return added
  }
}

/** What the agent says and thinks in one completion: the texts of its steps are passages of one text. */
export class AnswerText {
  // Text is held back: only what is the value at the end counts.
  readonly #isValue: boolean
  readonly #text = new Passages()
  readonly #reasoning = new Passages()
  // All texts are one.
  readonly #turn = new TurnTexts<null>()
  #held: string[] = []

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
    this.#turn.add(text, null)
    return true
  }

  say(text: string): TextEvent[] {
    if (text !== '') this.#turn.add(text, null)
    return this.#add(text)
  }

  think(text: string): TextEvent[] {
    return text === '' ? [] : [{ type: 'reasoning', text: this.#reasoning.add(text) }]
  }

  /** A step begins; if it is repeated, what its earlier attempt said is void. */
  beginStep(part: PartOf<'step.start'>): VoidEvent[] {
    const { index, attempt } = part
    this.#held = []
    this.#turn.begin(part)
    if (attempt > 1)
      return [
        { type: 'void', kept: this.#text.restart(index), keptReasoning: this.#reasoning.restart(index) }
      ]
    this.#text.begin(index)
    this.#reasoning.begin(index)
    return []
  }

  /** A turn of a call is over; its texts are void if what was spoken differs from them. */
  endTurn(spoken: string): (TextEvent | VoidEvent)[] {
    const events: (TextEvent | VoidEvent)[] = []
    if (this.#turn.end(spoken) !== undefined) {
      this.#held = []
      const kept = this.#text.restartTurn()
      events.push({ type: 'void', kept, keptReasoning: this.#reasoning.length }, ...this.#add(spoken))
    }
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

  #add(text: string): TextEvent[] {
    if (text === '') return []
    if (!this.#isValue) return [{ type: 'text', text: this.#text.add(text) }]
    this.#held.push(text)
    return []
  }
}
