/** An item of the model's that is part of an answer. */
interface SpokenItem {
  /** Undefined if the connection that has it is lost. */
  itemId: string | undefined
  samples: number
  /** As the conversation has it. */
  readonly message: { text: string }
}

/** Where an item of the model's is to be cut. */
export interface Cut {
  readonly itemId: string
  readonly audioEndMs: number
}

/** The audio of one answer, with its text: several items, if tools were called in between. */
export class SpokenAnswer {
  readonly #rate: number
  readonly #addMessage: () => { text: string }
  readonly #items: SpokenItem[] = []

  /** @param rate Hz of its audio */
  constructor(rate: number, addMessage: () => { text: string }) {
    this.#rate = rate
    this.#addMessage = addMessage
  }

  /** True once it has text or audio. */
  get hasBegun(): boolean {
    return this.#items.length > 0
  }

  addText(itemId: string, delta: string): void {
    this.#item(itemId).message.text += delta
  }

  addAudio(itemId: string, samples: number): void {
    this.#item(itemId).samples += samples
  }

  /** The text up to a time, in milliseconds since the answer began; in whole words. */
  textAt(ms: number): string {
    return this.#partsAt(ms).join('')
  }

  /** Keeps only what was played; returns where the model's items are to be cut. */
  cut(ms: number): Cut[] {
    const parts = this.#partsAt(ms)
    let left = this.#toSamples(ms)
    return this.#items.flatMap(({ itemId, samples, message }, index) => {
      message.text = parts[index] ?? ''
      const played = Math.min(samples, left)
      left -= played
      if (itemId === undefined || played === samples) return []
      return [{ itemId, audioEndMs: Math.floor((played * 1_000) / this.#rate) }]
    })
  }

  /** The connection that has its items is lost. */
  release(): void {
    for (const item of this.#items) item.itemId = undefined
  }

  // The played part of each item. One without audio was not spoken, and counts as a whole.
  #partsAt(ms: number): string[] {
    let left = this.#toSamples(ms)
    return this.#items.map(({ samples, message: { text } }) => {
      const played = Math.min(samples, left)
      left -= played
      return played === samples ? text : beginningOf(text, played / samples)
    })
  }

  #item(itemId: string): SpokenItem {
    const found = this.#items.find((each) => each.itemId === itemId)
    if (found !== undefined) return found
    const item = { itemId, samples: 0, message: this.#addMessage() }
    this.#items.push(item)
    return item
  }

  #toSamples(ms: number): number {
    return Math.round((ms * this.#rate) / 1_000)
  }
}

// Models speak at a steady rate; a word counts once most of it was spoken.
function beginningOf(text: string, share: number): string {
  const at = Math.round(text.length * share)
  const end = text.slice(at).search(/\s/)
  const start = text.slice(0, at).search(/\s\S*$/)
  const wordEnd = end < 0 ? text.length : at + end
  return text.slice(0, at - start > wordEnd - at ? wordEnd : Math.max(0, start))
}
