import { Type } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import type { Principal, StoredSession } from '@svc/contract'
import {
  pageOfItems,
  partsOf,
  turnsFrom,
  turnsOfSession,
  type Admit,
  type ListOrder,
  type SessionTurn,
  type WireSurface
} from '@svc/surface'
import { ANTHROPIC_ERR_BAD_PAGE } from '../errors.ts'
import { RunEvents } from '../projection/run-events.ts'
import { showTo } from '../projection/shown-event.ts'
import type { SessionEvent, StreamEvent } from '../wire/events.ts'
import { DEFAULT_LIMIT, isCreatedWithin, readCursor, toCursor, valuesOf, type Page } from '../wire/lists.ts'
import type { EventsQuery } from './event-schemas.ts'

/** The last item of a page, and its run; '' before the first run. */
interface ItemPlace {
  readonly runId: string
  readonly id: string
}
const PlaceSchema = Type.Object({ runId: Type.String(), id: Type.String() })
const isPlace = (value: unknown): value is ItemPlace => Value.Check(PlaceSchema, value)

/** What of a session is listed. */
export interface TurnList<T> {
  /** Its name, with the parameters that its pages have in common. */
  readonly list: readonly unknown[]
  readonly order: ListOrder
  readonly limit: number
  readonly page: string | undefined
  /** Waits until a turn, whose log has so many bytes, may be in memory. */
  readonly admit: Admit
  /** The items of a turn, oldest first. */
  read(turn: SessionTurn): Promise<readonly T[]>
}

/**
 * A page of what the turns of a session have.
 * @throws ANTHROPIC_ERR_BAD_PAGE, RUN_ERR_SESSIONS_NOT_KEPT, RUN_ERR_STORE
 */
export async function listOfTurns<T extends { readonly id: string }>(
  surface: WireSurface,
  session: StoredSession,
  caller: Principal,
  { list, order, limit, page, admit, read }: TurnList<T>
): Promise<Page<T>> {
  const runIds = new Map<T, string>()
  const place = readCursor(list, page, isPlace)
  const after = place?.runId === '' ? undefined : place
  const turns =
    after === undefined
      ? turnsOfSession(surface, session, caller, order)
      : turnsFrom(surface, session, caller, order, after.runId)
  const readTurn = async (turn: SessionTurn) => {
    await admit(turn.run?.bytes ?? 0)
    const items = await read(turn)
    for (const item of items) runIds.set(item, turn.runId)
    return items
  }
  const found = await pageOfItems(turns, readTurn, { order, limit, after })
  if (found === undefined) throw new ANTHROPIC_ERR_BAD_PAGE()
  const last = found.items.at(-1)
  const next = found.hasMore && last ? toCursor(list, { runId: runIds.get(last)!, id: last.id }) : null
  return { data: [...found.items], next_page: next }
}

const isKept = (event: StreamEvent): event is SessionEvent => 'id' in event

/** The events of a turn so far. @param threadId default: those that the session shows */
async function eventsOfTurn(
  surface: Pick<WireSurface, 'runs'>,
  session: StoredSession,
  { runId, ordinal, isInherited }: SessionTurn,
  threadId?: string
): Promise<SessionEvent[]> {
  const events = new RunEvents()
  const all: SessionEvent[] = []
  for await (const part of partsOf(surface, session, runId))
    for (const each of events.add(part)) {
      const shown = showTo(each, threadId)
      if (shown !== undefined && isKept(shown)) all.push(shown)
    }
  if (ordinal !== undefined || isInherited) return all
  // It waits for its turn.
  return all.flatMap((event) => (event.type === 'user.message' ? { ...event, processed_at: null } : []))
}

/** A page of the events of a session, or of one of its threads. @throws as `listOfTurns` */
export async function listEvents(
  surface: WireSurface,
  session: StoredSession,
  { limit = DEFAULT_LIMIT, page, beta: _, order = 'asc', ...filter }: EventsQuery,
  caller: Principal,
  admit: Admit,
  threadId?: string
): Promise<Page<SessionEvent>> {
  const types = valuesOf(filter.types, filter['types[]'])
  const isListed = (event: SessionEvent) =>
    (types === undefined || types.includes(event.type)) && isCreatedWithin(timeOf(event), filter)
  return listOfTurns(surface, session, caller, {
    list: ['events', session.sessionId, threadId ?? null, order, filter],
    order,
    limit,
    page,
    admit,
    read: async (turn) => (await eventsOfTurn(surface, session, turn, threadId)).filter(isListed)
  })
}

function timeOf({ processed_at: at }: SessionEvent): number {
  return at === null || at === undefined ? Date.now() : Date.parse(at)
}
