import { encodePieces, type LogEntry, type PartOf } from '@svc/contract'
import { RUN_ERR_SUSPENDED } from '@svc/contract/errors'
import type { SseProjection } from '@svc/surface'
import { sizeOfEntry } from '@svc/contract/stores'
import type { AgUiEvent } from '../wire/events.ts'
import { toDataEvent } from './content-events.ts'
import type { RunEvents } from './run-events.ts'

/** Parts up to this many characters are encoded in one piece. */
const MAX_WHOLE = 131_072

/** Where a stream begins. */
export interface StreamStart {
  /** Messages before those of the run. */
  readonly head?: string | AsyncIterable<string>
  /** Inputs that were just answered: the run does not wait for them, even if its log has no answer yet. */
  readonly answered?: readonly string[]
}

/** The log of a run as a stream of AG-UI, which ends where the run ends or waits. */
export class RunStream implements SseProjection {
  readonly head: string | AsyncIterable<string>
  readonly #events: RunEvents
  readonly #answered: readonly string[]
  #isPaused = false

  /** @param events of the run; they may have read the beginning of the log already */
  constructor(events: RunEvents, { head = '', answered = [] }: StreamStart = {}) {
    this.#events = events
    this.#answered = answered
    this.head = head
  }

  get ended(): boolean {
    return this.#isPaused || this.#events.run.end !== undefined
  }

  encode(entry: LogEntry): string | Iterable<string> {
    const { part } = entry
    if (part.type === 'text' && !part.source?.length) {
      const id = this.#events.continueText(entry.seq, part.text)
      if (id !== undefined)
        return `data: {"type":"TEXT_MESSAGE_CONTENT","messageId":"${id}","delta":${JSON.stringify(part.text)}}\n\n`
    }
    const events = this.#events.add(part)
    return encodeEntry(entry, events)
  }

  atPresent(): string {
    const { run } = this.#events
    if (!run.isWaiting || this.#answered.some((inputId) => run.pending.has(inputId))) return ''
    this.#isPaused = true
    return encodeEvents(this.#events.pause())
  }

  // A stream that ended in order, the client would take for a whole one; one that breaks off ends a client on Node.js.
  encodeSuspended(): string {
    const { message, code } = new RUN_ERR_SUSPENDED()
    return encodeEvents([{ type: 'RUN_ERROR', message, code, metadata: { retryable: true } }])
  }

  encodeTransient({ part }: { part: PartOf<'data'> }): string {
    return this.#events.run.start !== undefined ? encodeEvents([toDataEvent(part, {})]) : ''
  }
}

/** The messages of the events of a log entry; those of a large one in pieces. */
export function encodeEntry(entry: LogEntry, events: readonly AgUiEvent[]): string | Iterable<string> {
  return sizeOfEntry(entry) > MAX_WHOLE ? encodeLarge(events) : encodeEvents(events)
}

/** The messages of events. */
export function encodeEvents(events: readonly AgUiEvent[]): string {
  let text = ''
  for (const event of events) text += `data: ${JSON.stringify(event)}\n\n`
  return text
}

/** The messages of events with large values, in pieces that are made when they are read. */
function* encodeLarge(events: readonly AgUiEvent[]): Generator<string, void> {
  for (const event of events) {
    yield 'data: '
    yield* encodePieces(event)
    yield '\n\n'
  }
}
