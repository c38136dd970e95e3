import {
  codeOf,
  MAX_TIMER,
  type LogEntry,
  type NumberedPart,
  type PartOf,
  type Principal,
  type SessionRun,
  type StoredSession
} from '@svc/contract'
import { RUN_ERR_BAD_POSITION } from '@svc/contract/errors'
import { encodeText, sizeOfEntry } from '@svc/contract/stores'
import type { RunEngine } from '@svc/registry'
import type { EntryReader } from '@svc/registry/engine'
import { encodeEntry, MAX_WHOLE } from '../sse/event-stream.ts'
import { streamEntries, type SseProjection } from '../sse/sse-stream.ts'

/** Makes the events of a wire from the parts of a session: one run after another, each from its beginning. */
export interface SessionEvents<E extends object> {
  /** The parts that follow are those of this run. */
  begin(run: SessionRun): void
  /** The events of a part. They depend on nothing but the parts before, so that they are the same for each reader. */
  add(part: NumberedPart): readonly E[]
  /**
   * Continues the text under way of the agent itself with an increment, which makes one event, and returns the message of that without its id,
   * '' if the reader sees none; undefined if it continues none, and `add` is to take it.
   * @param json of the text
   */
  continueText(part: NumberedPart & PartOf<'text'>, json: string): string | undefined
  /** True if the stream ends here. */
  readonly ended?: boolean
}

/** How the events of a session are streamed. */
export interface SessionStreamOptions<E> {
  /** The id of the last event that the client has; default: the stream begins with the run under way, or the next one. */
  readonly after?: string | undefined
  /** A run that was just started, with which the stream begins; the session is as it was before. Not together with `after`. */
  readonly runId?: string | undefined
  /** Messages before all others. */
  readonly head?: string
  /** What a reader sees of an event; undefined: nothing, though it counts in ids. Default: the event itself. */
  readonly show?: (event: E) => object | undefined
  /** The `event` of a message; default: it has none. */
  readonly nameOf?: (event: E) => string
  /** The last event where the session is removed; default: the stream ends without one. */
  readonly removed?: () => E
  /** Ends the stream. */
  readonly signal?: AbortSignal | undefined
}

interface EventPlace {
  readonly ordinal: number
  readonly seq: number
  /** How many events of the part the client has; default all. */
  readonly count: number
}

/**
 * Streams the events of a session over all its runs. An id is the place of a part in the session's channel, `<ordinal>.<seq>`, with a third
 * number where the part makes several events; after any of them the stream continues exactly, in any process.
 * @throws RUN_ERR_SESSION_NOT_FOUND, RUN_ERR_BAD_POSITION, RUN_ERR_LOG_GONE, RUN_ERR_SESSIONS_NOT_KEPT, RUN_ERR_STORE
 */
export async function streamSession<E extends object>(
  { runs, heartbeat }: { readonly runs: Pick<RunEngine, 'sessions'>; readonly heartbeat: number },
  session: StoredSession,
  events: SessionEvents<E>,
  { after, runId, signal, ...options }: SessionStreamOptions<E> = {}
): Promise<ReadableStream<string>> {
  const { sessions } = runs
  if (runId !== undefined) {
    const reader = await sessions.openAt(session, runId)
    return streamEntries(reader, { heartbeat, projection: new SessionProjection(reader, events, options) })
  }
  const place = after === undefined ? undefined : parsePlace(after)
  const channel = place && `${place.ordinal}.${place.seq}`
  const reader = await sessions.open(session, channel, signal)
  // Behind the end of its run, or at a beginning, no state is needed.
  const isBetween = place === undefined || place.seq === 0 || reader.ordinal !== place.ordinal
  if (isBetween && (place === undefined || place.count === Infinity))
    return streamEntries(reader, { heartbeat, projection: new SessionProjection(reader, events, options) })
  reader.close()
  const again = await sessions.open(session, `${place.ordinal}.0`, signal)
  return streamEntries(again, {
    heartbeat,
    projection: new SessionProjection(again, events, options, place)
  })
}

/** @throws RUN_ERR_BAD_POSITION */
function parsePlace(id: string): EventPlace {
  const [, ordinal, seq, count] = /^(\d{1,15})\.(\d{1,15})(?:\.(\d{1,6}))?$/.exec(id) ?? []
  if (ordinal === undefined) throw new RUN_ERR_BAD_POSITION()
  return {
    ordinal: Number(ordinal),
    seq: Number(seq),
    count: count === undefined ? Infinity : Number(count)
  }
}

class SessionProjection<E extends object> implements SseProjection {
  readonly head: string
  readonly #reader: EntryReader
  readonly #events: SessionEvents<E>
  readonly #show: (event: E) => object | undefined
  readonly #nameOf: ((event: E) => string) | undefined
  readonly #removed: (() => E) | undefined
  // The client has what comes before.
  readonly #place: EventPlace | undefined
  #ordinal: number | undefined

  constructor(
    reader: EntryReader,
    events: SessionEvents<E>,
    {
      head = '',
      show = (event) => event,
      nameOf,
      removed
    }: Omit<SessionStreamOptions<E>, 'after' | 'runId' | 'signal'>,
    place?: EventPlace
  ) {
    this.#reader = reader
    this.#events = events
    this.#show = show
    this.#nameOf = nameOf
    this.#removed = removed
    this.#place = place
    this.head = head
  }

  get ended(): boolean {
    return this.#events.ended === true
  }

  encode(entry: LogEntry): string | Iterable<string> {
    const { runId, ordinal = 0 } = this.#reader
    if (ordinal !== this.#ordinal) this.#events.begin({ ordinal, runId })
    this.#ordinal = ordinal
    const { part } = entry
    const known = this.#knownOf(ordinal, entry.seq)
    const id = `${ordinal}.${entry.seq}`
    // Most entries are texts.
    if (part.type === 'text' && !part.source?.length && known === 0 && sizeOfEntry(entry) <= MAX_WHOLE) {
      const message = this.#events.continueText(part, encodeText(entry, part.text))
      if (message !== undefined) return message && `id: ${id}\n${message}`
    }
    const events = this.#events.add(part)
    const shown: object[] = []
    const heads: string[] = []
    for (let at = known; at < events.length; at++) {
      const what = this.#show(events[at]!)
      if (what === undefined) continue
      heads.push(`id: ${events.length === 1 ? id : `${id}.${at + 1}`}\n${this.#head(events[at]!)}`)
      shown.push(what)
    }
    if (shown.length === 0) return ''
    let next = 0
    return encodeEntry(entry, shown, { before: () => heads[next++]! })
  }

  encodeFailure(err: unknown): string | undefined {
    if (codeOf(err) !== 'RUN_ERR_SESSION_NOT_FOUND') return undefined
    const event = this.#removed?.()
    const shown = event && this.#show(event)
    return shown === undefined ? '' : `${this.#head(event!)}${JSON.stringify(shown)}\n\n`
  }

  #head(event: E): string {
    return this.#nameOf === undefined ? 'data: ' : `event: ${this.#nameOf(event)}\ndata: `
  }

  // How many events of a part the client has.
  #knownOf(ordinal: number, seq: number): number {
    const place = this.#place
    if (place === undefined || ordinal > place.ordinal || seq > place.seq) return 0
    return seq < place.seq ? Infinity : place.count
  }
}

/** Aborts when the token of a caller expires, which a stream may outlast; undefined if it does not expire. */
export function expiryOf({ exp }: Principal): AbortSignal | undefined {
  if (exp === undefined) return undefined
  return AbortSignal.timeout(Math.min(Math.max(exp * 1_000 - Date.now(), 0), MAX_TIMER))
}
