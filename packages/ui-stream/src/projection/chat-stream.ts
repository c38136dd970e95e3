import { encodePieces, type LogEntry, type PartOf } from '@svc/contract'
import type { SseProjection } from '@svc/surface'
import { sizeOfEntry } from '@svc/contract/stores'
import type { UiChunk } from '../wire/chunks.ts'
import { toData } from './content-chunks.ts'
import type { MessageChunks } from './message-chunks.ts'

/** Parts up to this many characters are encoded in one piece. */
const MAX_WHOLE = 131_072

/** The last message of a stream. */
const DONE = 'data: [DONE]\n\n'

/** Where a stream begins. */
export interface StreamStart {
  /** The part that the client has seen; default 0, for the whole message. */
  readonly after?: number
  readonly head?: readonly UiChunk[]
  /** Inputs that were just answered: the run does not wait for them, even if its log has no answer yet. */
  readonly answered?: readonly string[]
}

/** The log of a run as a UI message stream, which ends where the run ends or waits. */
export class ChatStream implements SseProjection {
  readonly head: string
  readonly #chunks: MessageChunks
  // The client has what comes before.
  readonly #after: number
  readonly #answered: readonly string[]
  #isPaused = false

  /** @param chunks of the message; it may have read the log up to `after` already */
  constructor(chunks: MessageChunks, { after = 0, head = [], answered = [] }: StreamStart = {}) {
    this.#chunks = chunks
    this.#after = after
    this.#answered = answered
    this.head = encodeAll(head)
  }

  get ended(): boolean {
    return this.#isPaused || this.#hasEnded
  }

  get #hasEnded(): boolean {
    return this.#chunks.run.end !== undefined
  }

  // A client that lost its connection resumes; a stream that ended in order, it would take for a whole one.
  get breaksOff(): boolean {
    return true
  }

  encode(entry: LogEntry): string | Iterable<string> {
    const { seq } = entry
    if (seq > 0 && seq <= this.#after) {
      if (seq > this.#chunks.run.seq) this.#chunks.add(entry.part)
      return ''
    }
    const { part } = entry
    if (part.type === 'text' && !part.source?.length) {
      const id = this.#chunks.continueText(seq, part.text)
      if (id !== undefined)
        return `data: {"type":"text-delta","id":"${id}","delta":${JSON.stringify(part.text)}}\n\n`
    }
    const chunks = this.#chunks.add(part)
    const text = sizeOfEntry(entry) > MAX_WHOLE ? undefined : encodeAll(chunks)
    if (text === undefined) return this.#encodeLarge(chunks)
    return this.#hasEnded ? text + DONE : text
  }

  atPresent(): string {
    const { run } = this.#chunks
    if (!run.isWaiting || this.#answered.some((inputId) => run.pending.has(inputId))) return ''
    this.#isPaused = true
    return encodeAll(this.#chunks.pause()) + DONE
  }

  encodeTransient({ part }: { part: PartOf<'data'> }): string {
    return encodeAll([toData(part)])
  }

  *#encodeLarge(chunks: readonly UiChunk[]): Generator<string, void> {
    for (const chunk of chunks) {
      yield 'data: '
      yield* encodePieces(chunk)
      yield '\n\n'
    }
    if (this.#hasEnded) yield DONE
  }
}

function encodeAll(chunks: readonly UiChunk[]): string {
  let text = ''
  for (const chunk of chunks) text += `data: ${JSON.stringify(chunk)}\n\n`
  return text
}
