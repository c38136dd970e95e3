/** Letters below which a sentence waits for the next one. */
const MIN_LETTERS = 4
/** Characters after which a sentence is cut, best at a comma. */
const MAX_CHARACTERS = 280

const FENCE = /^[ \t]*(```|~~~)/m
const SENTENCE_END = /[.!?…。！？｡\n]/
const CLOSED = /[\s。！？｡」』”]$/
const LETTERS = /[\p{L}\p{N}]/gu
/** A period that ends no sentence: of ordinals, initials and abbreviations. Where it does, two sentences are one. */
const NO_END =
  /(?:^|[\s(„"'])(?:\p{N}{1,2}|\p{L}|(?:\p{L}\.)+\p{L}|Mr|Mrs|Ms|Dr|Prof|St|Sr|Jr|vs|etc|approx|Nr|No|Art|Abs|bzw|ca|usw|Hr|Fr|Mme|Sra|Tel|Str)\.\s*$/iu
/** Where a long sentence is best cut. */
const CUTS = [/[;:]\s+|\s[–—]\s/g, /,\s+|[，、]/g, /\s+/g]

const segmenters = new Map<string, Intl.Segmenter>()

/** Splits a text into sentences while it is generated; all of them together are the text. A block of code is one. */
export class TextSplitter {
  readonly #segmenter: Intl.Segmenter
  #text = ''

  /** @param language BCP 47; default `en` */
  constructor(language = 'en') {
    this.#segmenter = segmenters.get(language) ?? new Intl.Segmenter(language, { granularity: 'sentence' })
    segmenters.set(language, this.#segmenter)
  }

  /** Takes the next increment of the text. Returns the sentences that it completes. */
  push(delta: string): string[] {
    this.#text += delta
    if (this.#text.length <= MAX_CHARACTERS && !SENTENCE_END.test(this.#text)) return []
    const sentences: string[] = []
    for (let length = this.#completeLength(); length > 0; length = this.#completeLength()) {
      sentences.push(this.#take(length))
    }
    return sentences
  }

  /** The rest of the text. The next `push` begins another. */
  flush(): string[] {
    const sentences: string[] = []
    while (this.#text !== '') sentences.push(this.#take(this.#completeLength() || this.#text.length))
    return sentences
  }

  #take(length: number): string {
    const text = this.#text.slice(0, length)
    this.#text = this.#text.slice(length)
    return text
  }

  // Of the first sentence; 0 if its end may be still to come.
  #completeLength(): number {
    const text = this.#text
    const fence = FENCE.exec(text)
    if (fence?.index === 0) return blockLength(text, fence[1] as string)
    const end = this.#firstEnd(fence === null ? text : text.slice(0, fence.index)) ?? fence?.index
    if ((end ?? text.length) > MAX_CHARACTERS) return cutOf(text)
    return end ?? 0
  }

  // The end of a sentence that another one follows.
  #firstEnd(prose: string): number | undefined {
    for (const { index } of this.#segmenter.segment(prose)) {
      const sentence = prose.slice(0, index)
      if ((sentence.match(LETTERS)?.length ?? 0) < MIN_LETTERS) continue
      if (CLOSED.test(sentence) && !NO_END.test(sentence)) return index
    }
    return undefined
  }
}

// The length of a block of code at the beginning of the text; 0 if it is not complete.
function blockLength(text: string, fence: string): number {
  const end = new RegExp(`(?<=\\n)[ \\t]*${fence}[ \\t]*\\n`).exec(text)
  return end === null ? 0 : end.index + end[0].length
}

function cutOf(text: string): number {
  const start = text.slice(0, MAX_CHARACTERS)
  for (const cut of CUTS) {
    const last = [...start.matchAll(cut)].at(-1)
    if (last !== undefined && last.index > 0) return last.index + last[0].length
  }
  // Not within a surrogate pair.
  return start.isWellFormed() ? start.length : start.length - 1
}
