import type { NumberedPart, PartOf } from './part.ts'
import { sourceKey } from './run-calls.ts'

/**
 * The texts of an answer since the last turn of a call, each by what a wire shows it as. What was spoken of them stands for all of them; it is
 * their beginning, or all that was said, in the turn or in its last step.
 */
export class TurnTexts<T> {
  #texts: T[] = []
  // How many texts are of earlier steps.
  #earlier = 0
  #length = 0
  #lengthInStep = 0

  /** Characters since the step began. */
  get length(): number {
    return this.#lengthInStep
  }

  /** The last text of the step. */
  get last(): T | undefined {
    return this.#texts.length > this.#earlier ? this.#texts.at(-1) : undefined
  }

  /** Adds an increment of a text. */
  add({ length }: string, shown: T): void {
    this.#length += length
    this.#lengthInStep += length
    if (this.last !== shown) this.#texts.push(shown)
  }

  /** A step begins; if it is repeated, its earlier attempt has said nothing. */
  begin({ attempt }: PartOf<'step.start'>): void {
    if (attempt > 1) {
      this.#texts.length = this.#earlier
      this.#length -= this.#lengthInStep
    }
    this.#earlier = this.#texts.length
    this.#lengthInStep = 0
  }

  /** A turn is over: returns its texts, which are void, if what was spoken differs from them. */
  end({ length: spoken }: string): T[] | undefined {
    const texts = this.#texts
    const isSame = spoken === this.#length || spoken === this.#lengthInStep
    this.#texts = []
    this.#earlier = this.#length = this.#lengthInStep = 0
    return isSame ? undefined : texts
  }
}

/** An increment of an answer or of reasoning. */
export type Increment = NumberedPart & PartOf<'text' | 'reasoning'>

/** What is said without a break: a text, or reasoning. */
export interface Passage<T> {
  readonly kind: Increment['type']
  /** What a wire shows it as. */
  readonly shown: T
}

/** One of a run that speaks: the agent itself, a member or a step. */
interface Speaker<T> {
  readonly texts: TurnTexts<T>
  open: Passage<T> | undefined
  // What its tool calls belong to; undefined until the step has it.
  answer: T | undefined
}

/**
 * Folds what a run says: the passages of the agent itself and of each member. A passage ends with the next one of another kind, and where
 * a wire ends it, since something else of its speaker begins.
 */
export class RunSpeech<T> {
  readonly #show: (part: NumberedPart) => T
  readonly #speakers = new Map<string, Speaker<T>>()
  #own: Speaker<T> | undefined

  /** @param show makes what a passage is shown as, from its first part */
  constructor(show: (part: NumberedPart) => T) {
    this.#show = show
  }

  /** Characters that the agent itself has said since its step began, or since the last turn of a call. */
  get length(): number {
    return this.#own?.texts.length ?? 0
  }

  /** Continues the passage under way of a source; undefined if an increment continues none. */
  continue({ type, text, source }: Increment): Passage<T> | undefined {
    const speaker = source?.length ? this.#speakers.get(sourceKey(source)) : this.#own
    const open = speaker?.open
    if (open?.kind !== type || text === '') return undefined
    if (type === 'text') speaker!.texts.add(text, open.shown)
    return open
  }

  /** Begins a passage with an increment that continues none; returns it after what ends with it, undefined if the increment is empty. */
  open(part: Increment): { ended: Passage<T>[]; passage: Passage<T> } | undefined {
    const { type: kind, text, source } = part
    if (text === '') return undefined
    const speaker = this.#speakerOf(source)
    const ended = end(speaker)
    const passage = (speaker.open = { kind, shown: this.#show(part) })
    if (kind === 'text') speaker.texts.add(text, (speaker.answer = passage.shown))
    return { ended, passage }
  }

  /** Ends the passage under way of a source. */
  end(source: readonly string[] = []): Passage<T>[] {
    return end(this.#speakers.get(sourceKey(source)))
  }

  /** Ends all passages under way. */
  endAll(): Passage<T>[] {
    return [...this.#speakers.values()].flatMap(end)
  }

  /** Ends the passages under way of a member, and of those within it, and forgets what they said: another execution begins. */
  endWithin(source: readonly string[]): Passage<T>[] {
    const within = sourceKey(source)
    return [...this.#speakers].flatMap(([key, speaker]) => {
      if (key !== within && !key.startsWith(`${within}\u0000`)) return []
      this.#speakers.delete(key)
      return end(speaker)
    })
  }

  /** What the tool calls of a source belong to: its last text in this step, else what is shown for the part. */
  answerOf(part: NumberedPart): T {
    return (this.#speakerOf(part.source).answer ??= this.#show(part))
  }

  /** The last text of a source in this step. */
  textOf(source: readonly string[] = []): T | undefined {
    return this.#speakers.get(sourceKey(source))?.texts.last
  }

  begin(part: PartOf<'step.start'>): void {
    const speaker = this.#speakers.get(sourceKey(part.source ?? []))
    speaker?.texts.begin(part)
    if (speaker !== undefined) speaker.answer = undefined
  }

  /** A turn of a call is over. If what was spoken differs from its texts, they are void, and something else is said instead, if anything. */
  speak(part: NumberedPart & PartOf<'voice.turn'>): { isVoid: T[]; spoken: T | undefined } | undefined {
    const speaker = this.#speakerOf(part.source)
    const isVoid = speaker.texts.end(part.text)
    speaker.answer = undefined
    return isVoid && { isVoid, spoken: part.text === '' ? undefined : this.#show(part) }
  }

  #speakerOf(source: readonly string[] = []): Speaker<T> {
    const key = sourceKey(source)
    let speaker = this.#speakers.get(key)
    if (speaker === undefined) {
      speaker = { texts: new TurnTexts(), open: undefined, answer: undefined }
      this.#speakers.set(key, speaker)
      if (key === '') this.#own = speaker
    }
    return speaker
  }
}

function end<T>(speaker: Speaker<T> | undefined): Passage<T>[] {
  const { open } = speaker ?? {}
  if (open === undefined) return []
  speaker!.open = undefined
  return [open]
}
