import type { Part, PartOf, StreamLog } from '@svc/contract'

type Chunk = PartOf<'text'> | PartOf<'reasoning'>

/** Milliseconds that text is held at most. */
const HOLD = 50
/** Characters of held text. */
const MAX_HELD = 4_096

/** The texts that the runs of an engine hold: one timer has them written. */
export class HeldTexts {
  readonly #all: HeldText[] = []
  #isTimed = false

  /** Holds the text until its run, or the timer, takes it. */
  add(held: HeldText): void {
    held.place = this.#all.push(held) - 1
    if (this.#isTimed) return
    this.#isTimed = true
    setTimeout(() => this.#writeAll(), HOLD)
  }

  remove(held: HeldText): void {
    const last = this.#all.pop()!
    if (last === held) return
    this.#all[held.place] = last
    last.place = held.place
  }

  #writeAll(): void {
    this.#isTimed = false
    for (const held of this.#all.slice()) held.write()
  }
}

/**
 * Increments of text that are joined into one part as long as the log has no reader: nobody needs each, and to a store of several
 * processes each part is a row. A reader gets each part at once, from the moment when it begins to follow.
 */
export class HeldText {
  readonly #texts: HeldTexts
  readonly #log: StreamLog
  readonly #runId: string
  readonly #onDue: () => void
  #held: Chunk | undefined
  // True until a reader follows.
  #isAlone = false
  /** Its place among those of the engine. */
  place = -1

  /** @param onDue called when the text must be written: `take` it */
  constructor(texts: HeldTexts, log: StreamLog, runId: string, onDue: () => void) {
    this.#texts = texts
    this.#log = log
    this.#runId = runId
    this.#onDue = onDue
  }

  /** Holds an increment; false if it must be written now, after the held text. */
  add(part: Part): boolean {
    if (!isChunk(part)) return false
    const held = this.#held
    if (held === undefined) return this.#begin(part)
    if (!isSameStream(held, part) || held.text.length + part.text.length > MAX_HELD) return false
    held.text += part.text
    return true
  }

  /** The held text, which is held no more; undefined if there is none. */
  take(): Chunk | undefined {
    const held = this.#held
    if (held === undefined) return undefined
    this.#held = undefined
    this.#texts.remove(this)
    return held
  }

  /** The text was held long enough. */
  write(): void {
    this.#onDue()
  }

  #begin(part: Chunk): boolean {
    if (!this.#isAlone && !this.#watch()) return false
    const { type, text, source } = part
    // A copy, since the runnable may reuse its part.
    this.#held = source === undefined ? { type, text } : { type, text, source: [...source] }
    this.#texts.add(this)
    return true
  }

  #watch(): boolean {
    this.#isAlone = this.#log.onFollowed!(this.#runId, () => {
      this.#isAlone = false
      this.#onDue()
    })
    return this.#isAlone
  }
}

// Fields that a runnable adds would be lost.
function isChunk(part: Part): part is Chunk {
  if (part.type !== 'text' && part.type !== 'reasoning') return false
  for (const name in part) if (name !== 'type' && name !== 'text' && name !== 'source') return false
  return true
}

function isSameStream(held: Chunk, { type, source }: Chunk): boolean {
  if (held.type !== type) return false
  if (held.source === source) return true
  const [place, other] = [held.source ?? [], source ?? []]
  return place.length === other.length && place.every((name, index) => name === other[index])
}
