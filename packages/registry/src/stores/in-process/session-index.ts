import {
  createScopeFilter,
  sessionKeyText,
  type Continuation,
  type MessagePage,
  type MessageQuery,
  type SessionIndex,
  type SessionKey,
  type SessionPage,
  type SessionQuery,
  type SessionStore,
  type SessionUpdate,
  type StoredSession
} from '@svc/contract'
import { RUN_ERR_FENCED, RUN_ERR_SESSION_EXISTS } from '@svc/contract/errors'
import {
  formatMessageCursor,
  formatSessionCursor,
  isOwnTurn,
  parseMessageCursor,
  parseSessionCursor,
  titleOf,
  type SessionLocks,
  type SessionPosition
} from '@svc/contract/stores'
import type { RunTable } from './run-table.ts'
import type { SessionEntry, SessionTable } from './session-table.ts'
import { requireTurn, runsOnBranch, type KeptTurn, type TurnTree } from './turn-tree.ts'

/** Conversations in process memory. */
export function createInProcessSessionStore(
  runs: Pick<RunTable, 'requireEpoch'>,
  locks: SessionLocks,
  sessions: SessionTable
): SessionStore {
  return {
    load(key, count, from, turnId, bounds) {
      const session = sessions.get(sessionKeyText(key))
      const saved = turnId === undefined ? undefined : session?.tree.find(turnId)
      const last = saved === undefined ? turnBefore(sessions, session, from) : saved.previous
      const query = { limit: count, bytes: bounds?.maxBytes, fromSummary: bounds?.fromSummary }
      return session?.tree.messagesTo(last, query).map(({ message }) => message!) ?? []
    },
    append(key, turnId, messages, fence, from) {
      runs.requireEpoch(fence)
      const text = sessionKeyText(key)
      const known = sessions.get(text)
      const previous = turnBefore(sessions, known, from)
      const session = known ?? sessions.begin(key, text)
      if (session.append(turnId, messages, previous, sessions.blocks))
        sessions.changed(session, isOwnTurn(turnId))
    },
    hasTurn: (key, runId) => sessions.get(sessionKeyText(key))?.tree.findOf(runId) !== undefined,
    remove: (key) => sessions.remove(sessionKeyText(key)),
    removeTurns(key, runIds) {
      const session = sessions.get(sessionKeyText(key))
      if (session?.removeTurns(new Set(runIds)) === true && !session.isListed) sessions.remove(session.text)
    },
    keys: (query) => sessions.keys(query),
    // The table enforces the bounds.
    sweep: () => 0,
    lock: (key, signal, holder, onPlace) => locks.lock(sessionKeyText(key), signal, holder, onPlace),
    place: (key, runId, ifFree) => locks.place(sessionKeyText(key), runId, ifFree)
  }
}

/** The turn that the next one of a run follows. @throws RUN_ERR_NO_TURN */
function turnBefore(
  sessions: SessionTable,
  session: SessionEntry | undefined,
  from: Continuation | undefined
): KeptTurn | undefined {
  if (from === undefined) return session?.newest
  const { runId, after, along } = from
  if (along !== undefined && after === undefined) {
    const branched = sessions.get(sessionKeyText(along))?.tree.isBranched
    if (branched !== true) return session?.newest
  }
  const own = session?.tree.findOf(runId)
  if (own !== undefined || after === null) return own
  if (along === undefined) return requireTurn(session?.tree, after!)
  const leading = sessions.get(sessionKeyText(along))
  const last = after === undefined ? leading?.newest : requireTurn(leading?.tree, after)
  return session?.tree.findOfAny(runsOnBranch(last))
}

/** The list of sessions in process memory. */
export function createInProcessSessionIndex(
  runs: Pick<RunTable, 'find' | 'findLive'>,
  sessions: SessionTable
): SessionIndex {
  const findListed = (key: SessionKey) => {
    const session = sessions.get(sessionKeyText(key))
    return session?.isListed === true ? session : undefined
  }
  const show = (session: SessionEntry) => toStored(session, runs)
  const change = (session: SessionEntry, { title, metadata, settings }: SessionUpdate) => {
    if (title !== undefined) session.title = title
    if (metadata !== undefined) session.metadata = metadata
    if (settings !== undefined) session.settings = settings
    sessions.changed(session, true)
    return show(session)
  }
  return {
    create(key, fields = {}) {
      const text = sessionKeyText(key)
      if (sessions.get(text) !== undefined) throw new RUN_ERR_SESSION_EXISTS(key.sessionId)
      return change(sessions.begin(key, text), fields)
    },
    enter(key, runId) {
      if (runs.find(runId) === undefined) throw new RUN_ERR_FENCED(runId)
      const text = sessionKeyText(key)
      const session = sessions.get(text) ?? sessions.begin(key, text)
      if (!session.enter(runId)) return
      sessions.changed(session, true)
      sessions.followers.notify(session.text)
    },
    find(key) {
      const session = findListed(key)
      return session && show(session)
    },
    list: (query) => listSessions(sessions, query, show),
    cursorAfter(key) {
      const session = findListed(key)
      return session && formatSessionCursor({ at: session.order, key: session.text })
    },
    update(key, given) {
      const session = findListed(key)
      return session && change(session, given)
    },
    settings: (key) => findListed(key)?.settings ?? undefined,
    messages: (key, query) => readPage(sessions.get(sessionKeyText(key))?.tree, query),
    fork(key, sessionId, atTurn) {
      const session = findListed(key)
      if (session === undefined) return undefined
      if (sessions.get(sessionKeyText({ ...key, sessionId })) !== undefined)
        throw new RUN_ERR_SESSION_EXISTS(sessionId)
      return show(forkSession(sessions, session, sessionId, atTurn))
    },
    forks(key) {
      const found: SessionEntry[] = [...(sessions.get(sessionKeyText(key))?.forks ?? [])]
      for (const session of found) found.push(...(session.forks ?? []))
      return found.map(({ registry, owner, kind, name, sessionId }) => ({
        registry,
        owner,
        kind,
        name,
        sessionId
      }))
    },
    sharedBefore(key) {
      const at = sessions.get(sessionKeyText(key))?.tree.forkedAt
      return at === undefined ? undefined : formatMessageCursor(at)
    },
    runs(key, after, limit) {
      const { first = 0, runIds = [] } = sessions.get(sessionKeyText(key))?.runsAfter(after, limit) ?? {}
      return runIds.map((runId, at) => ({ ordinal: first + at, runId }))
    },
    runsBefore(key, before, limit) {
      const session = sessions.get(sessionKeyText(key))
      const last = Math.min(before - 1, session?.lastOrdinal ?? 0)
      const after = Math.max(last - limit, 0)
      const { first = 0, runIds = [] } = session?.runsAfter(after, last - after) ?? {}
      return runIds.map((runId, at) => ({ ordinal: first + at, runId })).toReversed()
    },
    ordinalOf: (key, runId) => sessions.get(sessionKeyText(key))?.ordinalOf(runId),
    follow: (key, listener) => sessions.followers.follow(sessionKeyText(key), listener)
  }
}

function forkSession(
  sessions: SessionTable,
  session: SessionEntry,
  sessionId: string,
  atTurn: string | undefined
): SessionEntry {
  const { registry, owner, kind, name } = session
  const last = atTurn === undefined ? session.newest : requireTurn(session.tree, atTurn)
  const members =
    kind === 'team' ? sessions.keys({ owner, sessionId: session.sessionId, limit: Infinity }) : []
  for (const member of members) {
    const target = { ...member, sessionId }
    const isMember = member.sessionId === session.sessionId && member.registry === registry
    if (!isMember || sessionKeyText(member) === session.text) continue
    if (sessions.get(sessionKeyText(target)) !== undefined) continue
    const from = sessions.get(sessionKeyText(member))!
    const turn = turnBefore(sessions, from, { runId: '', after: atTurn, along: session })
    if (turn !== undefined) sessions.fork(from, target, turn)
  }
  const fork = sessions.fork(session, { registry, owner, kind, name, sessionId }, last)
  if (session.title === undefined && session.first !== undefined) session.title = titleOf(session.first)
  fork.title = session.title ?? null
  fork.metadata = session.metadata
  fork.settings = session.settings
  sessions.changed(fork, true)
  return fork
}

function readPage(
  tree: TurnTree | undefined,
  { before, branch, contents = true, ...size }: MessageQuery
): MessagePage {
  const end = before === undefined ? undefined : parseMessageCursor(before)
  const named = branch === undefined ? undefined : requireTurn(tree, branch)
  if (tree === undefined) return { messages: [], branches: [], nextCursor: null }
  const leaf = named === undefined ? tree.newest : tree.leafOf(named)
  const messages = tree.messagesTo(end === undefined ? leaf : tree.turnAt(end), size, end)
  const [first] = messages
  const hasMore = first !== undefined && tree.hasBefore(first.seq)
  return {
    messages: contents ? messages : messages.map((message) => ({ ...message, message: null })),
    branches: tree.branchesOf(messages, !hasMore),
    nextCursor: hasMore ? formatMessageCursor(first.seq) : null
  }
}

function listSessions(
  sessions: SessionTable,
  query: SessionQuery,
  show: (session: SessionEntry) => StoredSession
): SessionPage {
  const { owner, scope, kind, name, sessionId, limit, order = 'desc', cursor } = query
  const isInScope = createScopeFilter(scope)
  const isWanted = (session: SessionEntry) =>
    (kind === undefined || session.kind === kind) &&
    (name === undefined || session.name === name) &&
    isInScope(session)
  const after = cursor === undefined ? undefined : parseSessionCursor(cursor)
  const found: SessionEntry[] = []
  if (sessionId === undefined) {
    const next = order === 'asc' ? 'newer' : 'older'
    let place = order === 'asc' ? sessions.oldestOf(owner) : sessions.newestOf(owner)
    if (after !== undefined) place = placeAfter(sessions, place, after, next)
    for (; place !== undefined && found.length <= limit; place = place[next])
      if (isWanted(place)) found.push(place)
  } else {
    const sign = order === 'asc' ? 1 : -1
    let place = sessions.namedOf(owner, sessionId)
    for (; place !== undefined; place = place.namesake)
      if (isWanted(place) && (after === undefined || sign * (place.order - after.at) > 0)) found.push(place)
    found.sort((one, other) => sign * (one.order - other.order))
  }
  const page = found.slice(0, limit)
  const last = page.at(-1)
  return {
    sessions: page.map(show),
    nextCursor: last && found.length > limit ? formatSessionCursor({ at: last.order, key: last.text }) : null
  }
}

// Without a search if the last session of the page before has not changed since.
function placeAfter(
  sessions: SessionTable,
  first: SessionEntry | undefined,
  { at, key }: SessionPosition,
  next: 'older' | 'newer'
): SessionEntry | undefined {
  const last = sessions.get(key)
  if (last?.isListed === true && last.owner === first?.owner && last.order === at) return last[next]
  const isBefore = ({ order }: SessionEntry) => (next === 'older' ? order >= at : order <= at)
  let place = first
  while (place !== undefined && isBefore(place)) place = place[next]
  return place
}

function toStored(session: SessionEntry, runs: Pick<RunTable, 'findLive'>): StoredSession {
  const { registry, owner, kind, name, sessionId } = session
  const { metadata, createdAt, updatedAt, turns, lastOrdinal, lastRun } = session
  // Most titles are never asked for.
  if (session.title === undefined && session.first !== undefined) session.title = titleOf(session.first)
  const isActive = lastRun !== undefined && runs.findLive(lastRun) !== undefined
  return {
    registry,
    owner,
    kind,
    name,
    sessionId,
    title: session.title ?? null,
    metadata,
    createdAt,
    updatedAt,
    turns,
    lastOrdinal,
    activeRun: isActive ? lastRun : null
  }
}
