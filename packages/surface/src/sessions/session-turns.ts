import type { NumberedPart, Principal, RunSummary, StoredSession } from '@svc/contract'
import { RUN_ERR_NOT_FOUND } from '@svc/contract/errors'
import type { RunEngine } from '@svc/registry'
import { partsOfTurn, readPresent, readTurn, readTurns, type Exposed, type Turn } from '@svc/registry/engine'

/** A turn of a session: a run. */
export interface SessionTurn {
  readonly runId: string
  /** Its place in the session; undefined while it waits for its turn, and of inherited ones. */
  readonly ordinal?: number
  /** True if it was a turn of the session that this one is a fork of. */
  readonly isInherited?: true
  /** Undefined if its record is no longer kept. */
  readonly run?: RunSummary
}

/** The order of a list. */
export type ListOrder = 'asc' | 'desc'

/** The parts of a surface that read turns. */
export interface TurnAccess {
  readonly runs: Pick<RunEngine, 'sessions' | 'find' | 'stores'>
  readonly exposed: Pick<Exposed, 'scope'>
}

// Ordinals looked up at once, runs of a session that wait for their turns, and turns searched at once for one whose log is gone.
const PAGE = 50
const MAX_WAITING = 100
const SEARCHED = 1_000

/**
 * The turns of a session in order: first those of the session that it is a fork of, last those that wait for their turns.
 * @param after the run of the turn before the first one
 * @throws RUN_ERR_NOT_FOUND if `after` is no run of the session, RUN_ERR_SESSIONS_NOT_KEPT, RUN_ERR_STORE
 */
export async function* turnsOfSession(
  access: TurnAccess,
  session: StoredSession,
  principal: Principal,
  order: ListOrder,
  after?: string
): AsyncGenerator<SessionTurn, void> {
  const { sessions } = access.runs
  const from = after === undefined ? undefined : await sessions.ordinalOf(session, after)
  // Those that enter meanwhile are on no later page, and on none twice.
  const waiting = from !== undefined && order === 'desc' ? [] : await findWaiting(access, session, principal)
  if (order === 'desc') waiting.reverse()
  const at = waiting.findIndex(({ runId }) => runId === after)
  const isElsewhere = after !== undefined && from === undefined && at < 0
  const inherited = isElsewhere ? after : undefined
  if (isElsewhere && !(await isInherited(access, session, after))) throw new RUN_ERR_NOT_FOUND(after)
  if (order === 'asc') {
    if (after === undefined || isElsewhere) yield* inheritedTurns(access, session, order, inherited)
    if (at < 0) yield* enteredTurns(access, session, order, from ?? 0)
    yield* waiting.slice(at + 1)
  } else {
    if (!isElsewhere) yield* waiting.slice(at + 1)
    if (!isElsewhere) yield* enteredTurns(access, session, order, from ?? Number.MAX_SAFE_INTEGER)
    yield* inheritedTurns(access, session, order, inherited)
  }
}

async function* inheritedTurns(
  { runs }: TurnAccess,
  session: StoredSession,
  order: ListOrder,
  after: string | undefined
): AsyncGenerator<SessionTurn, void> {
  const { sessions } = runs
  const pages: string[][] = []
  let before = await sessions.sharedBefore(session)
  let isFound = after === undefined
  while (before !== undefined) {
    const { turns, nextCursor } = await readTurns(sessions, session, {
      limit: SEARCHED,
      contents: false,
      before
    })
    const runIds = turns.map(({ runId }) => runId)
    before = nextCursor ?? undefined
    if (order === 'asc') pages.unshift(runIds)
    else
      for (const runId of runIds.toReversed())
        if (isFound) yield await findInherited(runs, runId)
        else isFound = runId === after
  }
  for (const runId of pages.flat())
    if (isFound) yield await findInherited(runs, runId)
    else isFound = runId === after
}

async function findInherited(runs: TurnAccess['runs'], runId: string): Promise<SessionTurn> {
  const run = await runs.find(runId)
  return { runId, isInherited: true, ...(run !== undefined && { run }) }
}

async function isInherited({ runs }: TurnAccess, session: StoredSession, runId: string): Promise<boolean> {
  if ((await runs.sessions.sharedBefore(session)) === undefined) return false
  return (await runs.stores.sessions.hasTurn?.(session, runId)) === true
}

async function* enteredTurns(
  { runs }: TurnAccess,
  session: StoredSession,
  order: ListOrder,
  from: number
): AsyncGenerator<SessionTurn, void> {
  for (let place = from; ;) {
    const page =
      order === 'asc'
        ? await runs.sessions.runs(session, place, PAGE)
        : await runs.sessions.runsBefore(session, place, PAGE)
    for (const { runId, ordinal } of page) yield toTurn(runId, ordinal, await runs.find(runId))
    if (page.length < PAGE) return
    place = page.at(-1)!.ordinal
  }
}

/**
 * The turns of a session in order, from that of a run on.
 * @throws RUN_ERR_NOT_FOUND if it is no run of the session, RUN_ERR_SESSIONS_NOT_KEPT, RUN_ERR_STORE
 */
export async function* turnsFrom(
  access: TurnAccess,
  session: StoredSession,
  principal: Principal,
  order: ListOrder,
  runId: string
): AsyncGenerator<SessionTurn, void> {
  const first = await findTurn(access, session, runId, principal)
  if (first === undefined) throw new RUN_ERR_NOT_FOUND(runId)
  yield first
  yield* turnsOfSession(access, session, principal, order, runId)
}

// A run enters its session when it has its turn; until then only its record names the session.
async function findWaiting(
  { runs, exposed }: TurnAccess,
  session: StoredSession,
  { sub: owner }: Principal
): Promise<SessionTurn[]> {
  const { kind, name, sessionId } = session
  const query = { owner, scope: exposed.scope(), sessionId, status: 'submitted', limit: MAX_WAITING } as const
  const { runs: found } = await runs.stores.runs.listChanged(query)
  const waiting: RunSummary[] = []
  for (const run of found) {
    if (run.kind !== kind || run.name !== name || run.userId !== undefined) continue
    if ((await runs.sessions.ordinalOf(session, run.runId)) === undefined) waiting.push(run)
  }
  const places = await runs.stores.sessions.places?.(waiting.map(({ runId }) => runId))
  const placeOf = ({ runId }: RunSummary) => places?.get(runId)?.position ?? 0
  return waiting
    .toSorted((one, other) => placeOf(one) - placeOf(other) || one.createdAt - other.createdAt)
    .map((run) => ({ runId: run.runId, run }))
}

/**
 * A turn of a session; undefined if the run is none of it.
 * @throws RUN_ERR_SESSIONS_NOT_KEPT, RUN_ERR_STORE
 */
export async function findTurn(
  access: TurnAccess,
  session: StoredSession,
  runId: string,
  principal: Principal
): Promise<SessionTurn | undefined> {
  const { runs } = access
  const ordinal = await runs.sessions.ordinalOf(session, runId)
  if (ordinal !== undefined) return toTurn(runId, ordinal, await runs.find(runId))
  const waiting = (await findWaiting(access, session, principal)).find((turn) => turn.runId === runId)
  if (waiting !== undefined || !(await isInherited(access, session, runId))) return waiting
  return findInherited(runs, runId)
}

function toTurn(runId: string, ordinal: number, run: RunSummary | undefined): SessionTurn {
  return { runId, ordinal, ...(run !== undefined && { run }) }
}

/**
 * The parts of a turn so far, in order: those of its log, else what its session has of it; none if neither has any.
 * @throws RUN_ERR_SESSIONS_NOT_KEPT, RUN_ERR_STORE
 */
export async function* partsOf(
  { runs }: Pick<TurnAccess, 'runs'>,
  session: StoredSession,
  runId: string
): AsyncGenerator<NumberedPart, void> {
  let isKept = false
  for await (const { part } of readPresent(runs.stores, runId)) {
    isKept = true
    yield part
  }
  const saved = isKept ? undefined : await findSaved(runs, session, runId)
  if (saved !== undefined) yield* partsOfTurn(saved, session.sessionId)
}

async function findSaved(
  { sessions }: Pick<RunEngine, 'sessions'>,
  session: StoredSession,
  runId: string
): Promise<Turn | undefined> {
  for (let before: string | undefined; ;) {
    const query = { limit: SEARCHED, contents: false, ...(before !== undefined && { before }) }
    const { turns, nextCursor } = await readTurns(sessions, session, query)
    const found = turns.find((turn) => turn.runId === runId)
    if (found !== undefined) return { runId, messages: await readTurn(sessions, session, found) }
    if (nextCursor === null) return undefined
    before = nextCursor
  }
}

/** A page of what a wire makes of turns. */
export interface ItemPage<T> {
  readonly items: readonly T[]
  readonly hasMore: boolean
}

/** Selects a page of items. */
export interface ItemQuery {
  readonly order: ListOrder
  /** At most this many. */
  readonly limit: number
  /** The last item of the page before, and its turn. */
  readonly after?: { readonly runId: string; readonly id: string } | undefined
}

// Characters of JSON after which a page ends; a larger item makes a page by itself.
const MAX_LENGTH = 1_048_576

/**
 * A page of the items of turns, in order.
 * @param turns in order, that of `after` first
 * @param read the items of a turn, oldest first
 * @returns undefined if its turn has no item `after`
 */
export async function pageOfItems<T extends { readonly id: string | null }>(
  turns: AsyncIterable<SessionTurn>,
  read: (turn: SessionTurn) => Promise<readonly T[]>,
  { order, limit, after }: ItemQuery
): Promise<ItemPage<T> | undefined> {
  const items: T[] = []
  let length = 0
  let isFound = after === undefined
  for await (const turn of turns) {
    let found = await read(turn)
    if (order === 'desc') found = found.toReversed()
    if (!isFound) {
      const at = found.findIndex(({ id }) => id === after!.id)
      if (at < 0) return undefined
      found = found.slice(at + 1)
      isFound = true
    }
    for (const item of found) {
      if (items.length === limit) return { items, hasMore: true }
      length += JSON.stringify(item).length
      if (length > MAX_LENGTH && items.length > 0) return { items, hasMore: true }
      items.push(item)
    }
  }
  return isFound ? { items, hasMore: false } : undefined
}
