import { parseSessionKey, sessionKeyText, type Continuation, type SessionKey } from '@svc/contract'
import { RUN_ERR_NO_TURN, RUN_ERR_SESSION_EXISTS } from '@svc/contract/errors'
import { runIdOfTurn } from '@svc/contract/stores'
import type { Kysely, Selectable } from 'kysely'
import type { Tables } from '../tables.ts'
import { toSessionRow } from './session-rows.ts'

/** A message by the key of its session and its number; 0 is before the first one. */
export interface Place {
  readonly key: string
  readonly seq: number
}

/** Messages of a branch that follow each other in one session, both ends included. */
export interface Stretch {
  readonly key: string
  readonly from: number
  readonly to: number
}

export type BranchRow = Selectable<Tables['session_branch']>

/** Over the number of any message. */
export const NEWEST = 2_147_483_647

// Rows per query.
const PAGE = 200

/** The rows of a session whose branches begin at this message or before, newest first. */
export function selectBranches(db: Kysely<Tables>, { key, seq }: Place, limit: number) {
  const rows = db.selectFrom('session_branch').selectAll().where('session_key', '=', key)
  return rows.where('first_seq', '<=', seq).orderBy('first_seq', 'desc').limit(limit)
}

/**
 * The stretches of the branch that ends with a message, newest first: all, or as many as have `wanted` messages if none was removed, and where
 * the `rest` of the branch ends.
 */
export async function findStretches(
  db: Kysely<Tables>,
  end: Place,
  wanted = Infinity
): Promise<{ stretches: Stretch[]; rest: Place | undefined }> {
  const stretches: Stretch[] = []
  let rows: BranchRow[] = []
  let left = wanted
  let next: Place | undefined = end
  while (next !== undefined && next.seq > 0 && left > 0) {
    const key: string = next.key
    const seq: number = next.seq
    let row: BranchRow | undefined = rows.find((each) => each.session_key === key && each.first_seq <= seq)
    if (row === undefined) {
      rows = await selectBranches(db, next, PAGE).execute()
      row = rows[0]
    }
    const first = row?.first_seq ?? 1
    const from = Math.max(first, seq - left + 1)
    stretches.push({ key, from, to: seq })
    left -= seq - from + 1
    if (from > first) next = { key, seq: from - 1 }
    else next = row && { key: row.parent_key, seq: row.parent_seq }
  }
  return { stretches, rest: next !== undefined && next.seq > 0 ? next : undefined }
}

/** True if the message is in one of the stretches. */
export function isOn(stretches: readonly Stretch[], { key, seq }: Place): boolean {
  return stretches.some((each) => each.key === key && each.from <= seq && seq <= each.to)
}

/** The row by which a session continues another one, of which it is a fork. */
export async function findBase(db: Kysely<Tables>, sessionKey: string): Promise<BranchRow | undefined> {
  const rows = db.selectFrom('session_branch').selectAll().where('session_key', '=', sessionKey)
  const first = await rows.orderBy('first_seq').limit(1).executeTakeFirst()
  return first?.parent_key === sessionKey ? undefined : first
}

/** The last message that a run saved in a session, or in what the session shares with the one it is a fork of. */
async function findTurn(db: Kysely<Tables>, sessionKey: string, runId: string): Promise<Place | undefined> {
  const [own] = await seqsOfRun(db, sessionKey, runId)
  if (own !== undefined) return { key: sessionKey, seq: own }
  const base = await findBase(db, sessionKey)
  if (base === undefined) return undefined
  const { stretches: shared } = await findStretches(db, { key: base.parent_key, seq: base.parent_seq })
  for (const key of new Set(shared.map((stretch) => stretch.key)))
    for (const seq of await seqsOfRun(db, key, runId)) if (isOn(shared, { key, seq })) return { key, seq }
  return undefined
}

/** As `findTurn`. @throws RUN_ERR_NO_TURN if there is none */
export async function requireTurn(db: Kysely<Tables>, sessionKey: string, runId: string): Promise<Place> {
  const found = await findTurn(db, sessionKey, runId)
  if (found === undefined) throw new RUN_ERR_NO_TURN(runId)
  return found
}

/** The message that a turn of a session follows; undefined if the session does not have the turn. */
export async function findBefore(
  db: Kysely<Tables>,
  sessionKey: string,
  turnId: string
): Promise<Place | undefined> {
  const messages = db.selectFrom('session_message').select('seq').where('session_key', '=', sessionKey)
  const first = await messages.where('turn_id', '=', turnId).orderBy('seq').limit(1).executeTakeFirst()
  if (first === undefined) return undefined
  const [row] = await selectBranches(db, { key: sessionKey, seq: first.seq }, 1).execute()
  if (row?.first_seq === first.seq) return { key: row.parent_key, seq: row.parent_seq }
  return { key: sessionKey, seq: first.seq - 1 }
}

/** The numbers of the messages that a run saved in a session, newest first. */
async function seqsOfRun(db: Kysely<Tables>, sessionKey: string, runId: string): Promise<number[]> {
  const messages = db.selectFrom('session_message').select('seq').where('session_key', '=', sessionKey)
  // A path follows after a slash; the character after that is a zero.
  const ofPaths = messages.where('turn_id', '>', `${runId}/`).where('turn_id', '<', `${runId}0`)
  const rows = await messages.where('turn_id', '=', runId).unionAll(ofPaths).execute()
  return rows.map(({ seq }) => seq).toSorted((a, b) => b - a)
}

/** The end of the newest branch with this message, in a session that shows it. */
export async function findLeaf(db: Kysely<Tables>, sessionKey: string, place: Place): Promise<Place> {
  const newest = await findNewest(db, sessionKey)
  const rows = await db
    .selectFrom('session_branch')
    .selectAll()
    .where('session_key', '=', sessionKey)
    .orderBy('first_seq')
    .execute()
  let leaf = place
  // Where the parts of the session begin to be on a branch with the message.
  const begins: { first: number; on: number }[] = []
  const add = (first: number, next: number | undefined, isBelow: boolean) => {
    const end = (next ?? newest.seq + 1) - 1
    const has = place.key === sessionKey && first <= place.seq && place.seq <= end
    const on = has ? place.seq : isBelow ? first : Infinity
    begins.push({ first, on })
    if (on < Infinity) leaf = { key: sessionKey, seq: end }
  }
  if (rows[0]?.first_seq !== 1) add(1, rows[0]?.first_seq, false)
  for (const [at, { first_seq, parent_key, parent_seq }] of rows.entries()) {
    const isBelow =
      parent_key === sessionKey
        ? (begins.findLast(({ first }) => first <= parent_seq)?.on ?? Infinity) <= parent_seq
        : isOn((await findStretches(db, { key: parent_key, seq: parent_seq })).stretches, place)
    add(first_seq, rows[at + 1]?.first_seq, isBelow)
  }
  return leaf
}

/** The newest message of a session. */
async function findNewest(db: Kysely<Tables>, sessionKey: string): Promise<Place> {
  const row = db.selectFrom('session').select('last_seq').where('session_key', '=', sessionKey)
  return { key: sessionKey, seq: (await row.executeTakeFirst())?.last_seq ?? 0 }
}

// Messages per query.
const PLACES = 500

/** Where a run continues a session; undefined: after its newest message. @throws RUN_ERR_NO_TURN */
export async function findPlace(
  db: Kysely<Tables>,
  sessionKey: string,
  { runId, after, along }: Continuation
): Promise<Place | undefined> {
  const leading = along && sessionKeyText(along)
  if (leading !== undefined && after === undefined && !(await isBranched(db, leading))) return undefined
  const [own] = await seqsOfRun(db, sessionKey, runId)
  if (own !== undefined) return { key: sessionKey, seq: own }
  if (after === null) return { key: sessionKey, seq: 0 }
  if (leading === undefined) return requireTurn(db, sessionKey, after!)
  const end = after === undefined ? await findNewest(db, leading) : await requireTurn(db, leading, after)
  return findAlong(db, sessionKey, (await findStretches(db, end)).stretches)
}

async function isBranched(db: Kysely<Tables>, sessionKey: string): Promise<boolean> {
  const row = db.selectFrom('session_branch').select('first_seq').where('session_key', '=', sessionKey)
  return (await row.limit(1).executeTakeFirst()) !== undefined
}

// The newest turn of a run that has a turn in the stretches of the leading session.
async function findAlong(
  db: Kysely<Tables>,
  sessionKey: string,
  leading: readonly Stretch[]
): Promise<Place> {
  const keys = new Set(leading.map(({ key }) => key))
  const isLed = async (runId: string) => {
    for (const key of keys)
      for (const seq of await seqsOfRun(db, key, runId)) if (isOn(leading, { key, seq })) return true
    return false
  }
  const own = await findIn(db, { key: sessionKey, from: 1, to: NEWEST }, isLed)
  if (own !== undefined) return own
  const base = await findBase(db, sessionKey)
  const { stretches } = base
    ? await findStretches(db, { key: base.parent_key, seq: base.parent_seq })
    : { stretches: [] }
  for (const stretch of stretches) {
    const shared = await findIn(db, stretch, isLed)
    if (shared !== undefined) return shared
  }
  return { key: sessionKey, seq: 0 }
}

// The newest message of a run that is looked for.
async function findIn(
  db: Kysely<Tables>,
  { key, from, to }: Stretch,
  isWanted: (runId: string) => Promise<boolean>
): Promise<Place | undefined> {
  const seen = new Set<string>()
  for (let last = to; ;) {
    const rows = await db
      .selectFrom('session_message')
      .select(['seq', 'turn_id'])
      .where('session_key', '=', key)
      .where('seq', '>=', from)
      .where('seq', '<=', last)
      .orderBy('seq', 'desc')
      .limit(PLACES)
      .execute()
    for (const { seq, turn_id } of rows) {
      const runId = runIdOfTurn(turn_id)
      if (!seen.has(runId) && (await isWanted(runId))) return { key, seq }
      seen.add(runId)
    }
    if (rows.length < PLACES) return undefined
    last = rows.at(-1)!.seq - 1
  }
}

/** True if a run has a turn in the session. */
export async function hasTurn(db: Kysely<Tables>, sessionKey: string, runId: string): Promise<boolean> {
  return (await findTurn(db, sessionKey, runId)) !== undefined
}

type SessionRow = Selectable<Tables['session']>

// Stretches per statement.
const BATCH = 100

/** As `SessionIndex.fork`; true if there was a session to fork. @throws RUN_ERR_NO_TURN, RUN_ERR_SESSION_EXISTS */
export async function forkSession(
  db: Kysely<Tables>,
  key: SessionKey,
  sessionId: string,
  atTurn: string | undefined
): Promise<boolean> {
  const sessionKey = sessionKeyText(key)
  const rows = db.selectFrom('session').selectAll().where('session_key', '=', sessionKey)
  const session = await rows.where('listed', '=', 1).executeTakeFirst()
  if (session === undefined) return false
  if (await exists(db, sessionKeyText({ ...key, sessionId }))) throw new RUN_ERR_SESSION_EXISTS(sessionId)
  const place = await (atTurn === undefined ? findLast(db, sessionKey) : requireTurn(db, sessionKey, atTurn))
  if (key.kind === 'team') await forkMembers(db, key, sessionId, atTurn)
  await insertFork(db, session, sessionId, place)
  return true
}

async function forkMembers(
  db: Kysely<Tables>,
  along: SessionKey,
  sessionId: string,
  atTurn: string | undefined
): Promise<void> {
  const { owner, registry } = along
  const same = db.selectFrom('session').selectAll().where('owner', '=', owner)
  const own = same.where('session_id', '=', along.sessionId).where('registry', '=', registry)
  for (const member of await own.where('session_key', '!=', sessionKeyText(along)).execute()) {
    const from = { runId: '', after: atTurn, along }
    const place = (await findPlace(db, member.session_key, from)) ?? (await findLast(db, member.session_key))
    const key = parseSessionKey(member.session_key)!
    if (place.seq === 0 || (await exists(db, sessionKeyText({ ...key, sessionId })))) continue
    await insertFork(
      db,
      { ...member, title: null, metadata: null, settings: null, listed: 0 },
      sessionId,
      place
    )
  }
}

async function insertFork(
  db: Kysely<Tables>,
  session: SessionRow,
  sessionId: string,
  { key, seq }: Place
): Promise<void> {
  const { registry, owner, kind, name, title, metadata, settings, listed } = session
  const own: SessionKey = { registry, owner, kind, name, sessionId }
  const sessionKey = sessionKeyText(own)
  const turns = await countTurns(db, { key, seq })
  // The number after the last shared message stands for the place of the fork.
  const first = seq === 0 ? 0 : seq + 1
  const row = { ...toSessionRow(sessionKey, own, Date.now()), title, metadata, settings, listed, turns }
  await db
    .insertInto('session')
    .values({ ...row, last_seq: first, last_ordinal: 0 })
    .execute()
  if (seq === 0) return
  const branch = { session_key: sessionKey, first_seq: first, parent_key: key, parent_seq: seq }
  await db.insertInto('session_branch').values(branch).execute()
}

// The newest message: of the session that it is a fork of if it has none of its own.
async function findLast(db: Kysely<Tables>, sessionKey: string): Promise<Place> {
  const newest = await findNewest(db, sessionKey)
  const base = await findBase(db, sessionKey)
  return base?.first_seq === newest.seq ? { key: base.parent_key, seq: base.parent_seq } : newest
}

async function countTurns(db: Kysely<Tables>, end: Place): Promise<number> {
  const { stretches } = await findStretches(db, end)
  let turns = 0
  for (let at = 0; at < stretches.length; at += BATCH) {
    const { count } = await db
      .selectFrom('session_message')
      .select((select) => select.fn.count<number>('turn_id').distinct().as('count'))
      .where(({ eb, or, and }) =>
        or(
          stretches
            .slice(at, at + BATCH)
            .map(({ key, from, to }) =>
              and([eb('session_key', '=', key), eb('seq', '>=', from), eb('seq', '<=', to)])
            )
        )
      )
      .executeTakeFirstOrThrow()
    turns += count
  }
  return turns
}

async function exists(db: Kysely<Tables>, sessionKey: string): Promise<boolean> {
  const row = db.selectFrom('session').select('session_key').where('session_key', '=', sessionKey)
  return (await row.executeTakeFirst()) !== undefined
}

/** As `SessionIndex.forks`. */
export async function findForks(db: Kysely<Tables>, sessionKey: string): Promise<SessionKey[]> {
  const found = new Set<string>()
  for (let parents = [sessionKey]; parents.length > 0;) {
    const rows = await db
      .selectFrom('session_branch')
      .select('session_key')
      .distinct()
      .where('parent_key', 'in', parents)
      .execute()
    parents = rows
      .map(({ session_key }) => session_key)
      .filter((key) => key !== sessionKey && !found.has(key))
    for (const key of parents) found.add(key)
  }
  // What a removed fork has left for its own forks has no key.
  return [...found].flatMap((key) => parseSessionKey(key) ?? [])
}
