import { RUN_ERR_NO_TURN } from '@svc/contract'
import type { Kysely, Selectable } from 'kysely'
import type { Tables } from '../tables.ts'

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
export async function findTurn(
  db: Kysely<Tables>,
  sessionKey: string,
  runId: string
): Promise<Place | undefined> {
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

/** The numbers of the messages that a run saved in a session, newest first. */
export async function seqsOfRun(db: Kysely<Tables>, sessionKey: string, runId: string): Promise<number[]> {
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
export async function findNewest(db: Kysely<Tables>, sessionKey: string): Promise<Place> {
  const row = db.selectFrom('session').select('last_seq').where('session_key', '=', sessionKey)
  return { key: sessionKey, seq: (await row.executeTakeFirst())?.last_seq ?? 0 }
}
