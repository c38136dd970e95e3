import type { Redact, TextInIncrements } from '../../contract/provider-key.ts'
import type { Part, PartOf } from '../../contract/part.ts'
import type { RunChange } from '../../contract/ports/run-store.ts'
import type { LogWriter } from './log-writer.ts'
import type { RunProgress } from '../run-progress.ts'

type Increment = PartOf<'text'> | PartOf<'reasoning'>

/** What the run, a member or a step says of one type, while a key may have begun in it. */
interface Speech {
  /** An increment of it, without its text. */
  readonly part: Increment
  readonly text: TextInIncrements
}

/**
 * Writes the parts of a run without its caller's keys. Where an increment ends with what may be the beginning of a key, that
 * is held back until more of the same speech comes, or is written before the next part of another type from the same
 * place, one within it or one around it. What the speech goes on with is redacted even then, should it end the key.
 */
export class RedactedWriter {
  readonly #redact: Redact
  readonly #progress: RunProgress
  readonly #writer: LogWriter
  readonly #speeches = new Map<string, Speech>()
  // In the order in which they were last heard.
  readonly #held = new Set<Speech>()

  constructor(redact: Redact, progress: RunProgress, writer: LogWriter) {
    this.#redact = redact
    this.#progress = progress
    this.#writer = writer
  }

  /** As `LogWriter`; an increment may be written later, or with others. @throws RUN_ERR_LOG_LIMIT, RUN_ERR_BAD_PART */
  write(part: Part, change?: RunChange): void {
    for (const rest of this.#takeHeld(part)) this.#writer.write(this.#progress.next(rest))
    const begin = this.#redact.text
    if ((part.type !== 'text' && part.type !== 'reasoning') || begin === undefined)
      this.#writer.write(this.#progress.next(this.#redact(part)), change)
    else this.#writeIncrement(part, begin)
  }

  /** Writes what is held back. */
  flush(): void {
    for (const rest of this.#takeHeld()) this.#writer.write(this.#progress.rest(rest))
  }

  /** What a step does; what it said is in the log before its output is recorded. */
  flushingAfter<T>(step: () => Promise<T> | T): () => Promise<T> {
    return async () => {
      const output = await step()
      this.flush()
      return output
    }
  }

  #writeIncrement(part: Increment, begin: () => TextInIncrements): void {
    const key = keyOf(part)
    const text = this.#takeSpeech(key)?.text ?? begin()
    const told = text.add(part.text)
    if (told !== '' || part.text === '') {
      const redacted = { ...this.#redact({ ...part, text: '' }), text: told }
      this.#writer.write(this.#progress.next(redacted))
    }
    // Not before: nothing is held back of a part that cannot be told.
    if (text.open) this.#hold(key, part, text)
  }

  // A speech that is over stays known: it may go on.
  *#takeHeld(before?: Part): Generator<Part, void> {
    for (const speech of this.#held) {
      if (before !== undefined && !isInterrupted(speech.part, before)) continue
      this.#held.delete(speech)
      const text = speech.text.flush()
      if (text !== '') yield { ...speech.part, text }
    }
  }

  #takeSpeech(key: string): Speech | undefined {
    const speech = this.#speeches.get(key)
    if (speech === undefined) return undefined
    this.#speeches.delete(key)
    this.#held.delete(speech)
    return speech
  }

  #hold(key: string, { type, source }: Increment, text: TextInIncrements): void {
    const part = this.#redact<Increment>({ type, text: '', ...(source && { source: [...source] }) })
    const speech = { part, text }
    this.#speeches.set(key, speech)
    this.#held.add(speech)
  }
}

// Members that go on beside one another do not interrupt each other: by turns they would draw out a key bit by bit.
function isInterrupted({ type, source = [] }: Increment, by: Part): boolean {
  const { source: place = [] } = by
  const depth = Math.min(source.length, place.length)
  return by.type !== type && source.slice(0, depth).every((name, index) => name === place[index])
}

function keyOf({ type, source = [] }: Increment): string {
  return [type, ...source].join('\u0000')
}
