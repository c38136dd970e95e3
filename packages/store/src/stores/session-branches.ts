import type { TurnBranches } from '@svc/registry'
import { runIdOfTurn } from '@svc/registry/store-kit'
import type { Kysely } from 'kysely'
import { findBase, findStretches, isOn, type Place } from '../rows/session-branches.ts'
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

// The turn that was saved directly after a message, if it follows that and is of the session.
async function findNext(db: Kysely<Tables>, sessionKey: string, { key, seq }: Place) {
  const next = seq + 1
  const branch = db.selectFrom('session_branch').select('first_seq').where('session_key', '=', key)
  if ((await branch.where('first_seq', '=', next).executeTakeFirst()) !== undefined) return undefined
  if (key !== sessionKey && !(await isShared(db, sessionKey, { key, seq: next }))) return undefined
  const row = db.selectFrom('session_message').select('turn_id').where('session_key', '=', key)
  const found = await row.where('seq', '=', next).executeTakeFirst()
  return found && runIdOfTurn(found.turn_id)
}

async function isShared(db: Kysely<Tables>, sessionKey: string, place: Place): Promise<boolean> {
  const base = await findBase(db, sessionKey)
  if (base === undefined) return false
  const { stretches } = await findStretches(db, { key: base.parent_key, seq: base.parent_seq })
  return isOn(stretches, place)
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
