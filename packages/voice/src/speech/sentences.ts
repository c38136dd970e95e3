import { TextSplitter } from '@svc/runtime/loop'

/** Replacements in order; what only structures a text on a screen has no sound. */
const MARKDOWN: readonly (readonly [RegExp, string])[] = [
  // A fence that a cut left open reaches to the end.
  [/^[ \t]*(```|~~~)[\s\S]*?(?:^[ \t]*\1[ \t]*$|$(?![\s\S]))/gm, ''],
  // Rules, underlines of headings, and the second line of tables.
  [/^[ \t]*(?:[-*_=] ?){3,}[ \t]*$/gm, ''],
  [/^[ \t]*\|?(?:[ \t]*:?-{2,}:?[ \t]*\|)+(?:[ \t]*:?-{2,}:?)?[ \t]*$/gm, ''],
  [/^[ \t]*(?:>[ \t]*)+/gm, ''],
  [/^[ \t]*#{1,6}[ \t]+/gm, ''],
  [/^[ \t]*[-*+•][ \t]+(?:\[[ xX]\][ \t]+)?/gm, ''],
  // Cells of tables.
  [/^[ \t]*\|[ \t]*|[ \t]*\|[ \t]*$/gm, ''],
  [/[ \t]+\|[ \t]+/g, ', '],
  [/!?\[([^\]\n]*)\]\([^)\n]*\)/g, '$1'],
  [/<((?:https?:\/\/|mailto:)[^>\s]+)>/g, '$1'],
  [/<\/?[a-z][^>\n]*>/gi, ''],
  [/\bhttps?:\/\/(?:www\.)?([^\s/?#)]+)[^\s)]*[^\s).,;:!?]/gi, '$1'],
  [/\*{2,}(?=\S)|(?<=\S)\*{2,}/g, ''],
  [/(?<![\p{L}\p{N}])\*(?=\S)|(?<=\S)\*(?![\p{L}\p{N}])/gu, ''],
  [/(?<![\p{L}\p{N}])_+(?=\S)|(?<=\S)_+(?![\p{L}\p{N}])/gu, ''],
  [/~~|`+/g, ''],
  [/\p{Emoji_Presentation}|\p{Extended_Pictographic}\ufe0f/gu, ''],
  // What joins and varies emoji.
  [/\p{Emoji_Modifier}|\u200d|\ufe0f|\u20e3/gu, ''],
  [/\s+/g, ' ']
]

/** The words of a text to be spoken: without Markdown, code blocks, addresses after their host, and emoji. */
export function toSpeakable(text: string): string {
  let spoken = text
  for (const [pattern, replacement] of MARKDOWN) spoken = spoken.replace(pattern, replacement)
  // Without a letter or a digit the text has no sound.
  return /[\p{L}\p{N}]/u.test(spoken) ? spoken.trim() : ''
}

/** A piece of an answer that is spoken at once. */
export interface Sentence {
  /** As it was generated; the texts of all sentences together are the answer. */
  readonly text: string
  /** The words to be spoken; empty for a block of code or a rule. */
  readonly speech: string
}

/** Splits an answer into sentences while it is generated. */
export class SentenceSplitter {
  readonly #texts: TextSplitter

  /** @param language BCP 47; default `en` */
  constructor(language?: string) {
    this.#texts = new TextSplitter(language)
  }

  /** Takes the next increment of the text. Returns the sentences that it completes. */
  push(delta: string): Sentence[] {
    return this.#texts.push(delta).map(toSentence)
  }

  /** The rest of the text. The next `push` begins another. */
  flush(): Sentence[] {
    return this.#texts.flush().map(toSentence)
  }
}

function toSentence(text: string): Sentence {
  return { text, speech: toSpeakable(text) }
}

/** Of full scale; a sentence begins and ends with sound above it. */
const AUDIBLE = 0.01 * 32_768
/** Milliseconds of one byte of text, until the first sentence is complete. */
const BYTE_MS = 70

interface Spoken {
  readonly sentence: Sentence
  readonly startMs: number
  /** Audio so far. */
  durationMs: number
  /** Within the audio: where sound begins and ends. */
  soundStartMs: number | undefined
  soundEndMs: number
  isComplete: boolean
}

/** Which text the audio of an answer speaks: by sentence, and within one by the share of its words. */
export class Alignment {
  readonly #spoken: Spoken[] = []
  #durationMs = 0
  // Of the last complete sentence.
  #byteMs = BYTE_MS

  /** Milliseconds of all audio. */
  get durationMs(): number {
    return this.#durationMs
  }

  /** The audio to come is of this sentence; that of the one before is complete. */
  begin(sentence: Sentence): void {
    this.end()
    this.#spoken.push({
      sentence,
      startMs: this.#durationMs,
      durationMs: 0,
      soundStartMs: undefined,
      soundEndMs: 0,
      isComplete: false
    })
  }

  /** Takes audio of the sentence under way. @param rate Hz */
  add(samples: Int16Array, rate: number): void {
    const last = this.#spoken.at(-1)
    if (last === undefined) return
    const from = last.durationMs
    const toMs = (index: number) => from + (index / rate) * 1000
    last.durationMs = toMs(samples.length)
    this.#durationMs = last.startMs + last.durationMs
    const end = samples.findLastIndex(isAudible)
    if (end === -1) return
    last.soundStartMs ??= toMs(samples.findIndex(isAudible))
    last.soundEndMs = toMs(end + 1)
  }

  /** The audio of the sentence under way is complete. */
  end(): void {
    const last = this.#spoken.at(-1)
    if (last === undefined || last.isComplete) return
    last.isComplete = true
    if (last.soundStartMs === undefined) return
    this.#byteMs = (last.soundEndMs - last.soundStartMs) / Buffer.byteLength(last.sentence.speech)
  }

  /** The text that was spoken in the first milliseconds of the audio: whole words, and never more than was begun. */
  textAt(ms: number): string {
    let text = ''
    for (const each of this.#spoken) {
      const elapsed = ms - each.startMs
      if (elapsed < 0 || (elapsed === 0 && each.durationMs > 0)) break
      if (!each.isComplete || elapsed < each.soundEndMs) return text + partOf(each, elapsed, this.#byteMs)
      text += each.sentence.text
    }
    return text
  }
}

function partOf(
  { sentence, soundStartMs = 0, soundEndMs, isComplete }: Spoken,
  elapsed: number,
  byteMs: number
): string {
  const { text, speech } = sentence
  const bytes = Buffer.byteLength(speech)
  const duration = soundEndMs - soundStartMs
  const total = isComplete ? duration : Math.max(duration, bytes * byteMs)
  const spokenBytes = total > 0 ? ((elapsed - soundStartMs) / total) * bytes : 0
  // Words of the speech stand in the text, in the same order, among what structures it.
  let [counted, end] = [0, 0]
  for (const word of wordsOf(speech)) {
    const sound = word.trimEnd()
    if (counted + Buffer.byteLength(sound) > spokenBytes + 0.5) break
    counted += Buffer.byteLength(word)
    const found = text.indexOf(sound, end)
    if (found !== -1) end = found + sound.length
  }
  return text.slice(0, end)
}

const segmenter = new Intl.Segmenter('en', { granularity: 'word' })

// Each with what follows it, up to the next word.
function wordsOf(text: string): string[] {
  const words: string[] = []
  for (const { segment, isWordLike } of segmenter.segment(text)) {
    if (isWordLike === true || words.length === 0) words.push(segment)
    else words[words.length - 1] += segment
  }
  return words
}

function isAudible(sample: number): boolean {
  return sample > AUDIBLE || sample < -AUDIBLE
}
