import type { TurnBranches } from '@svc/contract'
import { runIdOfTurn } from '@svc/contract/stores'
import type { Kysely } from 'kysely'
import { findBase, findStretches, isOn, type Place, type Stretch } from '../rows/session-branches.ts'
import type { Tables } from '../tables.ts'
import type { PlacedMessage } from './session-messages.ts'

/**
 * Where a session branches after the messages of a page, and at its beginning if the page is the first one of its branch; the messages
 * are oldest first.
 */
export async function readBranches(
  db: Kysely<Tables>,
  sessionKey: string,
  page: readonly PlacedMessage[],
  isFirst: boolean
): Promise<TurnBranches[]> {
  const parents: (Place & { turnId?: string })[] = isFirst
    ? [{ key: sessionKey, seq: 0 }, ...page]
    : [...page]
  const [first, last] = [parents[0], parents.at(-1)]
  if (first === undefined || last === undefined) return []
  const rows = await db
    .selectFrom('session_branch')
    .selectAll()
    .where('parent_key', 'in', [...new Set(parents.map(({ key }) => key))])
    .where('parent_seq', '>=', first.seq)
    .where('parent_seq', '<=', last.seq)
    .where('session_key', '=', sessionKey)
    .execute()
  const branches: TurnBranches[] = []
  for (const parent of rows.length === 0 ? [] : parents) {
    const begins = rows.filter((row) => row.parent_key === parent.key && row.parent_seq === parent.seq)
    if (begins.length === 0) continue
    begins.sort((a, b) => a.first_seq - b.first_seq)
    const following = [
      await findNext(db, sessionKey, parent),
      ...(await Promise.all(begins.map(({ first_seq }) => turnFrom(db, sessionKey, first_seq))))
    ].filter((runId) => runId !== undefined)
    const after = parent.turnId === undefined ? null : runIdOfTurn(parent.turnId)
    if (following.length > 1) branches.push({ after, turns: following })
  }
  return branches
}

// The turn that follows a message, or begins the session, without a branch of the session itself.
async function findNext(db: Kysely<Tables>, sessionKey: string, place: Place): Promise<string | undefined> {
  for (const { key, from, to } of await findFollowing(db, sessionKey, place)) {
    const rows = db.selectFrom('session_message').select('turn_id').where('session_key', '=', key)
    const following = rows.where('seq', '>=', from).where('seq', '<=', to)
    const found = await following.orderBy('seq').limit(1).executeTakeFirst()
    if (found !== undefined) return runIdOfTurn(found.turn_id)
  }
  return undefined
}

// Where the message after another one is, in their order: a fork may have none in its first stretch.
async function findFollowing(
  db: Kysely<Tables>,
  sessionKey: string,
  { key, seq }: Place
): Promise<Stretch[]> {
  const base = key === sessionKey && seq > 0 ? undefined : await findBase(db, sessionKey)
  if (base === undefined) {
    const branch = db.selectFrom('session_branch').select('first_seq').where('session_key', '=', key)
    const isOther = await branch.where('first_seq', '=', seq + 1).executeTakeFirst()
    return isOther === undefined ? [{ key, from: seq + 1, to: seq + 1 }] : []
  }
  // What the session shares with the one that it is a fork of.
  const { stretches } = await findStretches(db, { key: base.parent_key, seq: base.parent_seq })
  const at = seq === 0 ? stretches.length : stretches.findIndex((each) => isOn([each], { key, seq }))
  const own = stretches[at]
  const later = stretches.slice(0, Math.max(at, 0)).toReversed()
  return own === undefined ? later : [{ ...own, from: seq + 1 }, ...later]
}

// The turn that begins a branch. The first branch of a fork may have none.
async function turnFrom(db: Kysely<Tables>, sessionKey: string, first: number) {
  const rows = db
    .selectFrom('session_message')
    .select(['seq', 'turn_id'])
    .where('session_key', '=', sessionKey)
  const found = await rows.where('seq', '>=', first).orderBy('seq').limit(1).executeTakeFirst()
  if (found === undefined) return undefined
  if (found.seq === first) return runIdOfTurn(found.turn_id)
  const branch = db.selectFrom('session_branch').select('first_seq').where('session_key', '=', sessionKey)
  const isOther = await branch.where('first_seq', '=', found.seq).executeTakeFirst()
  return isOther === undefined ? runIdOfTurn(found.turn_id) : undefined
}
