import { sessionKeyText, runIdOfTurn } from '@svc/registry/store-kit'
import type { Continuation } from '@svc/registry'
import type { Kysely } from 'kysely'
import type { Tables } from '../tables.ts'
import {
  findNewest,
  findStretches,
  findTurn,
  isOn,
  requireTurn,
  seqsOfRun,
  type Place,
  type Stretch
} from './session-branches.ts'

// Messages per query.
const PAGE = 500

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
  const seen = new Set<string>()
  for (let before = Infinity; ;) {
    let query = db.selectFrom('session_message').select(['seq', 'turn_id'])
    query = query.where('session_key', '=', sessionKey)
    if (before < Infinity) query = query.where('seq', '<', before)
    const rows = await query.orderBy('seq', 'desc').limit(PAGE).execute()
    for (const { seq, turn_id } of rows) {
      const runId = runIdOfTurn(turn_id)
      if (seen.has(runId)) continue
      seen.add(runId)
      for (const key of keys)
        for (const at of await seqsOfRun(db, key, runId))
          if (isOn(leading, { key, seq: at })) return { key: sessionKey, seq }
    }
    if (rows.length < PAGE) return { key: sessionKey, seq: 0 }
    before = rows.at(-1)!.seq
  }
}

/** True if a run has a turn in the session. */
export async function hasTurn(db: Kysely<Tables>, sessionKey: string, runId: string): Promise<boolean> {
  return (await findTurn(db, sessionKey, runId)) !== undefined
}
