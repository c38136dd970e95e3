import type { Part, PartOf, StreamLog } from '@svc/contract'

type Chunk = PartOf<'text'> | PartOf<'reasoning'>
type OnFollowed = NonNullable<StreamLog['onFollowed']>

/** Milliseconds that text is held. */
const HOLD = 50
/** Characters of held text. */
const MAX_HELD = 4_096

/**
 * Increments of text that are joined into one part as long as the log has no reader: to a store of several processes each part is a
 * row. A reader gets each part at once, from the moment when it begins to follow.
 */
export class HeldText {
  readonly #runId: string
  readonly #onFollowed: OnFollowed
  readonly #onDue: () => void
  #held: Chunk | undefined
  #timer: NodeJS.Timeout | undefined
  #unwatch: (() => void) | undefined

  /**
   * @param onFollowed that of the log
   * @param onDue called when the text must be written: `take` it
   */
  constructor(runId: string, onFollowed: OnFollowed, onDue: () => void) {
    this.#runId = runId
    this.#onFollowed = onFollowed
    this.#onDue = onDue
  }

  /** Holds an increment; false if it must be written now, after the held text. */
  add(part: Part): boolean {
    if (!isChunk(part)) return false
    if (this.#held === undefined) return this.#begin(part)
    if (!isSameStream(this.#held, part) || this.#held.text.length + part.text.length > MAX_HELD) return false
    this.#held.text += part.text
    return true
  }

  /** The held text, which is held no more; undefined if there is none. */
  take(): Chunk | undefined {
    const held = this.#held
    if (held === undefined) return undefined
    this.#held = undefined
    clearTimeout(this.#timer)
    this.#unwatch?.()
    this.#unwatch = undefined
    return held
  }

  #begin(part: Chunk): boolean {
    this.#unwatch = this.#onFollowed(this.#runId, this.#onDue)
    if (this.#unwatch === undefined) return false
    // A copy, since the runnable may reuse its part.
    this.#held = { ...part, ...(part.source && { source: [...part.source] }) }
    this.#timer = setTimeout(this.#onDue, HOLD)
    return true
  }
}

const FIELDS = new Set(['type', 'text', 'source'])

// Fields that a runnable adds would be lost.
function isChunk(part: Part): part is Chunk {
  return (
    (part.type === 'text' || part.type === 'reasoning') && Object.keys(part).every((name) => FIELDS.has(name))
  )
}

function isSameStream(held: Chunk, { type, source = [] }: Chunk): boolean {
  const { source: place = [] } = held
  return (
    held.type === type &&
    place.length === source.length &&
    place.every((name, index) => name === source[index])
  )
}
