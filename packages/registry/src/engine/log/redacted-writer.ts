import type { Part, PartOf, Redact, RunChange, TextInIncrements } from '@svc/contract'
import type { PartRecord } from '../journal/part-record.ts'

type Chunk = PartOf<'text'> | PartOf<'reasoning'> | PartOf<'tool.call.delta'>

/** Numbers the parts of a run and appends them to its log. */
export interface NumberedLog {
  /** @throws RUN_ERR_LOG_LIMIT, RUN_ERR_BAD_PART */
  append(part: Part, change?: RunChange, record?: PartRecord): void
  /** Appends a short part regardless of the log's limit. @throws RUN_ERR_BAD_PART */
  appendRest(part: Part): void
}

/** The text, reasoning or arguments of one source, while they may end with the beginning of a key. */
interface TextStream {
  /** Its part, without the text. */
  readonly part: Chunk
  readonly text: TextInIncrements
}

/**
 * Writes the parts of a run without its caller's keys. If a chunk ends with what may be the beginning of a key, that end is held
 * back until the next chunk of the same stream, or is written before the next part of another type from the same source, one
 * within it or one around it. Even then the rest of the key is redacted if it follows.
 */
export class RedactedWriter {
  readonly #redact: Redact
  readonly #log: NumberedLog
  readonly #streams = new Map<string, TextStream>()
  // In the order of their last chunks.
  readonly #held = new Set<TextStream>()

  constructor(redact: Redact, log: NumberedLog) {
    this.#redact = redact
    this.#log = log
  }

  /** As `PartWriter.write`; a chunk may be written later, or joined with others. @throws RUN_ERR_LOG_LIMIT, RUN_ERR_BAD_PART */
  write(part: Part, change?: RunChange, record?: PartRecord): void {
    for (const rest of this.#takeHeld(part)) this.#log.append(rest)
    const begin = this.#redact.text
    if (!isChunk(part) || begin === undefined) this.#log.append(this.#redact(part), change, record)
    else this.#writeChunk(part, begin)
  }

  /** Writes the text held back. */
  flush(): void {
    for (const rest of this.#takeHeld()) this.#log.appendRest(rest)
  }

  #writeChunk(part: Chunk, begin: () => TextInIncrements): void {
    const key = keyOf(part)
    const text = this.#takeStream(key)?.text ?? begin()
    const given = textOf(part)
    const safe = text.add(given)
    if (safe !== '' || given === '') this.#log.append(withText(this.#redact(withText(part, '')), safe))
    // Last, so that nothing is held back of a part that could not be written.
    if (text.open) this.#hold(key, part, text)
  }

  // Flushed streams stay known, since they may continue.
  *#takeHeld(before?: Part): Generator<Part, void> {
    for (const stream of this.#held) {
      if (before !== undefined && !isInterrupted(stream.part, before)) continue
      this.#held.delete(stream)
      const text = stream.text.flush()
      if (text !== '') yield withText(stream.part, text)
    }
  }

  #takeStream(key: string): TextStream | undefined {
    const stream = this.#streams.get(key)
    if (stream === undefined) return undefined
    this.#streams.delete(key)
    this.#held.delete(stream)
    return stream
  }

  #hold(key: string, chunk: Chunk, text: TextInIncrements): void {
    const part = this.#redact(emptyOf(chunk))
    const stream = { part, text }
    this.#streams.set(key, stream)
    this.#held.add(stream)
  }
}

// Parallel members must not flush each other, or a key could leak piecewise.
function isInterrupted({ type, source = [] }: Chunk, by: Part): boolean {
  const { source: place = [] } = by
  const depth = Math.min(source.length, place.length)
  return by.type !== type && source.slice(0, depth).every((name, index) => name === place[index])
}

function isChunk(part: Part): part is Chunk {
  return part.type === 'text' || part.type === 'reasoning' || part.type === 'tool.call.delta'
}

function textOf(chunk: Chunk): string {
  return chunk.type === 'tool.call.delta' ? chunk.delta : chunk.text
}

function withText(chunk: Chunk, text: string): Chunk {
  return chunk.type === 'tool.call.delta' ? { ...chunk, delta: text } : { ...chunk, text }
}

// A copy, since the runnable may reuse its part.
function emptyOf(chunk: Chunk): Chunk {
  const source = chunk.source && { source: [...chunk.source] }
  if (chunk.type !== 'tool.call.delta') return { type: chunk.type, text: '', ...source }
  return { ...chunk, delta: '', ...source }
}

function keyOf(chunk: Chunk): string {
  const { type, source = [] } = chunk
  const call = type === 'tool.call.delta' ? [chunk.toolCallId] : []
  return [type, ...call, ...source].join('\u0000')
}
