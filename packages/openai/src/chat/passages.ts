/** What separates the texts of two steps. */
const SEPARATOR = '\n\n'

/** Counts the characters of a text that steps add to, and separates what they add. */
export class Passages {
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
