import { encodePieces, type LogEntry, type NumberedPart, type PartOf, type RunView } from '@svc/contract'
import { encodeText, sizeOfEntry } from '@svc/contract/stores'
import type { RunEngine } from '@svc/registry'
import type { FastifyReply } from 'fastify'
import { createSseStream, SSE_HEADERS, type SseProjection } from './sse-stream.ts'

/** JSON, or the part of a log that it is made of, of up to this many characters is encoded in one piece. */
export const MAX_WHOLE = 131_072

/** What surrounds the JSON of events in their messages. */
export interface Framing<E> {
  /** Default: `data: `. */
  before?: string | ((event: E) => string)
  after?: string
  /** After the last one. */
  end?: string
}

/** The messages of events. */
export function encodeEvents<E extends object>(
  events: readonly E[],
  { before = 'data: ', after = '\n\n', end = '' }: Framing<E> = {}
): string {
  let text = ''
  for (const event of events)
    text += (typeof before === 'string' ? before : before(event)) + JSON.stringify(event) + after
  return text + end
}

/** The messages of events with large values, in pieces that are made when they are read. */
export function* encodeLarge<E extends object>(
  events: readonly E[],
  { before = 'data: ', after = '\n\n', end = '' }: Framing<E> = {}
): Generator<string, void> {
  for (const event of events) {
    yield typeof before === 'string' ? before : before(event)
    yield* encodePieces(event)
    yield after
  }
  if (end !== '') yield end
}

/** The messages of the events of a log entry; those of a large one in pieces. */
export function encodeEntry<E extends object>(
  entry: LogEntry,
  events: readonly E[],
  framing?: Framing<E>
): string | Iterable<string> {
  return sizeOfEntry(entry) > MAX_WHOLE ? encodeLarge(events, framing) : encodeEvents(events, framing)
}

/** Makes the events of a run from its parts, in order. */
export interface WireEvents<E> {
  readonly run: RunView
  /**
   * Continues the text under way with an increment, and returns the JSON of its event; undefined if there is none.
   * @param json of the text
   */
  continueText(part: NumberedPart & PartOf<'text'>, json: string): string | undefined
  add(part: NumberedPart): E[]
  /** The events that end an answer where the run waits. */
  pause(): E[]
}

/** Where a stream begins. */
export interface StreamStart {
  /** The part that the client has seen; default 0, for all of the run. */
  readonly after?: number
  /** Messages before those of the run. */
  readonly head?: string | AsyncIterable<string>
  /** Inputs that were just answered: the run does not wait for them, even if its log has no answer yet. */
  readonly answered?: readonly string[]
}

/** The log of a run as a stream of events, which ends where the run ends or waits. */
export class EventStream<E extends object> implements SseProjection {
  readonly head: string | AsyncIterable<string>
  protected readonly events: WireEvents<E>
  // The client has what comes before.
  readonly #after: number
  readonly #answered: readonly string[]
  readonly #end: string
  #isPaused = false

  /**
   * @param events of the run; they may have read the beginning of the log already
   * @param end the last message, where the run ends or waits
   */
  constructor(events: WireEvents<E>, { after = 0, head = '', answered = [] }: StreamStart = {}, end = '') {
    this.events = events
    this.#after = after
    this.#answered = answered
    this.#end = end
    this.head = head
  }

  /** The place of the last part that its events have read. */
  get seq(): number {
    return this.events.run.seq
  }

  get ended(): boolean {
    return this.#isPaused || this.events.run.end !== undefined
  }

  encode(entry: LogEntry): string | Iterable<string> {
    const { seq, part } = entry
    const events = this.events
    if (seq > 0 && seq <= this.#after) {
      if (seq > events.run.seq) events.add(part)
      return ''
    }
    if (part.type === 'text' && !part.source?.length) {
      const json = events.continueText(part, encodeText(entry, part.text))
      if (json !== undefined) return `data: ${json}\n\n`
    }
    const added = events.add(part)
    return encodeEntry(entry, added, { end: this.ended ? this.#end : '' })
  }

  atPresent(): string {
    const { run } = this.events
    if (!run.isWaiting || this.#answered.some((inputId) => run.pending.has(inputId))) return ''
    this.#isPaused = true
    return encodeEvents(this.events.pause(), { end: this.#end })
  }
}

/** A projection that may have read the beginning of its log. */
export interface RunProjection extends SseProjection {
  /** The place of the last part that it has read; default: none. */
  readonly seq?: number
}

/**
 * Opens the stream of a run, for a reply that gets its headers. The handler returns the stream: a reply that it sends and returns, Fastify
 * watches once more.
 * @param partial true for the object that an agent is writing, to `encodeTransient` of the projection
 */
export function openEventStream(
  { runs, heartbeat }: { readonly runs: RunEngine; readonly heartbeat: number },
  reply: FastifyReply,
  runId: string,
  projection: RunProjection,
  partial = false
): ReadableStream<string> {
  reply.headers(SSE_HEADERS).header('x-run-id', runId)
  return createSseStream(runs, runId, { after: projection.seq ?? 0, heartbeat, projection, partial })
}
