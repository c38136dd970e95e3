/** Whether audio is the answer's own, or what the call says itself. */
export type SpokenOf = 'answer' | 'say'

/** A place in the audio of a response. */
export interface Cut {
  readonly itemId: string
  readonly responseId: string
  /** Milliseconds of the item before it. */
  readonly heardMs: number
  /** Milliseconds of the answer's own audio before it. */
  readonly answerMs: number
}

interface Item {
  readonly itemId: string
  readonly responseId: string
  readonly start: number
}

interface Span {
  readonly of: SpokenOf
  readonly start: number
  end: number
}

const NO_ITEM: Item = { itemId: '', responseId: '', start: 0 }

/** Which audio of a response belongs to which of its items, and to the answer itself. Places are samples. */
export class SpokenItems {
  readonly #rate: number
  readonly #items: Item[] = []
  readonly #spans: Span[] = []
  #end = 0

  /** @param rate samples per second */
  constructor(rate: number) {
    this.#rate = rate
  }

  /** Audio from now on belongs to this item. */
  begin(itemId: string, responseId: string): void {
    this.#items.push({ itemId, responseId, start: this.#end })
  }

  add(samples: number, of: SpokenOf): void {
    const start = this.#end
    this.#end += samples
    const last = this.#spans.at(-1)
    if (last?.of === of) last.end = this.#end
    else this.#spans.push({ of, start, end: this.#end })
  }

  /** Forgets the audio after a place. */
  cut(place: number): void {
    this.#end = place
    for (const span of this.#spans) span.end = Math.min(span.end, place)
  }

  /** Milliseconds of an item before a place. */
  msOf(itemId: string, place: number): number {
    const index = this.#items.findIndex((item) => item.itemId === itemId)
    const start = this.#items[index]?.start ?? place
    const end = this.#items[index + 1]?.start ?? this.#end
    return this.#toMs(Math.min(Math.max(place, start), end) - start)
  }

  /** Where a time of an item is; undefined for an unknown item. */
  placeOf(itemId: string, ms: number): number | undefined {
    const item = this.#items.find((each) => each.itemId === itemId)
    return item && item.start + Math.round((Math.max(ms, 0) * this.#rate) / 1000)
  }

  /** What is before a place. The item is the one that would continue there. */
  cutAt(place: number): Cut {
    const item = this.#items.findLast(({ start }) => start <= place) ?? NO_ITEM
    let answer = 0
    for (const { of, start, end } of this.#spans)
      if (of === 'answer' && start < place) answer += Math.min(end, place) - start
    return {
      itemId: item.itemId,
      responseId: item.responseId,
      heardMs: this.#toMs(place - item.start),
      answerMs: this.#toMs(answer)
    }
  }

  #toMs(samples: number): number {
    return (samples * 1000) / this.#rate
  }
}
