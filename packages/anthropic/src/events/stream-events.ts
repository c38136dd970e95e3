import type { NumberedPart, PartOf, Principal, StoredSession } from '@svc/contract'
import {
  expiryOf,
  findActiveRun,
  partsOf,
  SSE_HEADERS,
  streamSession,
  tieToClient,
  type SessionEvents,
  type WireSurface
} from '@svc/surface'
import type { FastifyReply } from 'fastify'
import { RunEvents } from '../projection/run-events.ts'
import { showTo, type ShownEvent } from '../projection/shown-event.ts'
import type { PreviewType, StreamEvent } from '../wire/events.ts'

/** The events of a session, run after run. */
class ManagedEvents implements SessionEvents<ShownEvent> {
  readonly #showsText: boolean
  #run = new RunEvents()

  /** @param showsText true for readers of what the agent itself writes, as it is written */
  constructor(showsText: boolean) {
    this.#showsText = showsText
  }

  begin(): void {
    this.#run = new RunEvents()
  }

  add(part: NumberedPart): readonly ShownEvent[] {
    return this.#run.add(part)
  }

  continueText(part: NumberedPart & PartOf<'text'>, json: string): string | undefined {
    const event = this.#run.continueText(part, json)
    if (event === undefined || !this.#showsText) return event && ''
    return `event: event_delta\ndata: ${event}\n\n`
  }
}

/** What a reader sees. */
export interface StreamView {
  /** Default: the session, which is its primary thread. */
  readonly threadId?: string | undefined
  readonly previews: ReadonlySet<PreviewType>
  /** The id of the last message that the client has; default: the stream begins behind the last wait of the run under way, or with that run, or the next one. */
  readonly after: string | undefined
}

/**
 * Opens the stream of the events of a session, for a reply that gets its headers.
 * @throws the errors of `streamSession`
 */
export async function openEvents(
  surface: WireSurface,
  session: StoredSession,
  { threadId, previews, after }: StreamView,
  caller: Principal,
  reply: FastifyReply
): Promise<ReadableStream<string>> {
  const show = (shown: ShownEvent): StreamEvent | undefined => {
    const event = shown.event.type === 'session.deleted' ? shown.event : showTo(shown, threadId)
    if (event?.type === 'event_delta') return previews.has('agent.message') ? event : undefined
    return event?.type === 'event_start' && !previews.has(event.event.type) ? undefined : event
  }
  const from = after ?? (await placeOfWait(surface, session, caller))
  const showsText = threadId === undefined && previews.has('agent.message')
  const stream = await streamSession(surface, session, new ManagedEvents(showsText), {
    after: from,
    show,
    nameOf: ({ event }) => event.type,
    removed: () => toDeleted(session),
    signal: expiryOf(caller)
  })
  reply.headers(SSE_HEADERS)
  tieToClient(surface.replies, reply)
  return stream
}

/**
 * The place behind the last wait of the run under way; undefined if it has not waited. A client that opens a stream and then answers is to
 * see what follows, not what it has been asked before.
 */
async function placeOfWait(
  surface: WireSurface,
  session: StoredSession,
  caller: Principal
): Promise<string | undefined> {
  const run = await findActiveRun(surface, session, caller)
  const ordinal = run && (await surface.runs.sessions.ordinalOf(session, run.runId))
  if (run === undefined || ordinal === undefined) return undefined
  const events = new RunEvents()
  let place: string | undefined
  for await (const part of partsOf(surface, session, run.runId)) {
    const made = events.add(part)
    const at = made.findLastIndex(({ event }) => event.type === 'session.status_idle')
    if (at >= 0) place = `${ordinal}.${part.seq}${made.length === 1 ? '' : `.${at + 1}`}`
  }
  return place
}

// It stands in no list: its session is gone.
function toDeleted({ sessionId }: StoredSession): ShownEvent {
  const processed_at = new Date().toISOString()
  const event = { id: `sevt_${sessionId}_deleted`, type: 'session.deleted', processed_at } as const
  return { event, thread: undefined, isShared: true }
}
