import { sessionKeyText, type Continuation } from '@svc/contract'
import { runIdOfTurn } from '@svc/contract/stores'
import type { Kysely } from 'kysely'
import type { Tables } from '../tables.ts'
import {
  NEWEST,
  findBase,
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
      .limit(PAGE)
      .execute()
    for (const { seq, turn_id } of rows) {
      const runId = runIdOfTurn(turn_id)
      if (!seen.has(runId) && (await isWanted(runId))) return { key, seq }
      seen.add(runId)
    }
    if (rows.length < PAGE) return undefined
    last = rows.at(-1)!.seq - 1
  }
}

/** True if a run has a turn in the session. */
export async function hasTurn(db: Kysely<Tables>, sessionKey: string, runId: string): Promise<boolean> {
  return (await findTurn(db, sessionKey, runId)) !== undefined
}
