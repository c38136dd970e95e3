import { createPause, type SessionMessage, type StoredMessage } from '@svc/contract'
import { sql, type ExpressionBuilder, type Kysely } from 'kysely'
import { parseStored, type SkipDamaged } from '../encoding/values.ts'
import {
  NEWEST,
  findBase,
  findStretches,
  selectBranches,
  type Place,
  type Stretch
} from '../rows/session-branches.ts'
import type { Tables } from '../tables.ts'

/** Larger messages, in bytes, are read one by one. */
export const MAX_PAGED = 65_536

/** A message, and whose row has it: of another session if that is shared with a fork. */
export interface PlacedMessage extends StoredMessage {
  readonly key: string
}

/** Where to begin to read. */
export interface ReadFrom {
  /** The last message; default the newest. */
  readonly end?: Place | undefined
  /** Only messages before this one of the session, on its branch. */
  readonly before?: number | undefined
  /** Bytes of JSON of all messages; a larger one is read alone. */
  readonly bytes?: number | undefined
  /** False: each message is null. */
  readonly contents?: boolean | undefined
  /** Called before a large message is read. */
  readonly admit?: ((bytes: number) => unknown) | undefined
}

/** The newest messages of a session, as JSON and newest first; undefined if it has branches, or large ones among them. */
export type NewestMessages = (sessionKey: string, limit: number) => Promise<readonly string[] | undefined>

interface MessageRow extends Place {
  readonly turnId: string
  readonly short: string | null
  /** Bytes of the message. */
  readonly size: number
}

/** Reads messages of a branch of a session, newest first; a damaged one is null. `isCut` is true if not all fit into `bytes`. */
export async function readMessages(
  db: Kysely<Tables>,
  sessionKey: string,
  limit: number,
  from: ReadFrom,
  skipDamaged: SkipDamaged
): Promise<{ messages: PlacedMessage[]; isCut: boolean }> {
  if (from.contents === false) {
    const rows = await readRows(db, sessionKey, limit, from)
    return {
      messages: rows.map(({ key, seq, turnId }) => ({ key, seq, turnId, message: null })),
      isCut: false
    }
  }
  const pause = createPause()
  const messages: PlacedMessage[] = []
  let left = from.bytes ?? Infinity
  for (const { key, seq, turnId, short, size } of await readRows(db, sessionKey, limit, from)) {
    left -= size
    if (left < 0 && messages.length > 0) return { messages, isCut: true }
    if (short === null) await from.admit?.(size)
    const stored = short ?? (await readLarge(db, { key, seq }))
    // The session was removed meanwhile.
    if (stored === undefined) break
    const message = parseStored<SessionMessage>(stored) ?? null
    if (message === null) skipDamaged('session_message', `${key} ${seq}`)
    messages.push({ key, seq, turnId, message })
    if (short === null) await pause()
  }
  return { messages, isCut: false }
}

// One query for a session without branches.
async function readRows(
  db: Kysely<Tables>,
  sessionKey: string,
  limit: number,
  { end, before, contents = true }: ReadFrom
): Promise<MessageRow[]> {
  const { key, seq } = end ?? { key: sessionKey, seq: before ?? NEWEST }
  const last = before === undefined ? seq : before - 1
  const own = selectRows(db, contents).where('session_key', '=', key).where('seq', '<=', last)
  const found = await db
    .selectFrom(own.orderBy('seq', 'desc').limit(limit).as('own'))
    .select(['seq', 'turn_id', 'short', 'size'])
    .select([sql<string | null>`null`.as('parent_key'), sql<number | null>`null`.as('parent_seq')])
    .unionAll(
      db
        .selectFrom(selectBranches(db, { key, seq }, 1).as('branch'))
        .select(['first_seq as seq', sql<null>`null`.as('turn_id'), sql<null>`null`.as('short')])
        .select(sql<number>`0`.as('size'))
        .select(['parent_key', 'parent_seq']) as never
    )
    .execute()
  const branch = found.find(({ parent_key }) => parent_key !== null)
  const rows = found
    .filter(({ parent_key, seq: at }) => parent_key === null && at >= (branch?.seq ?? 0))
    .map(({ seq: at, turn_id: turnId, short, size }) => ({ key, seq: at, turnId, short, size }))
    .toSorted((a, b) => b.seq - a.seq)
  const left = limit - rows.length
  if (branch !== undefined && left > 0)
    return [
      ...rows,
      ...(await readBefore(db, { key: branch.parent_key!, seq: branch.parent_seq! }, left, contents))
    ]
  if (found.length > 0 || before === undefined) return rows
  // A message that the session shares with the one it is a fork of.
  const base = await findBase(db, sessionKey)
  if (base === undefined) return rows
  const { stretches } = await findStretches(db, { key: base.parent_key, seq: base.parent_seq })
  const shared = stretches.find(({ from }) => from < before)
  return shared
    ? readBefore(db, { key: shared.key, seq: Math.min(shared.to, before - 1) }, limit, contents)
    : rows
}

async function readBefore(
  db: Kysely<Tables>,
  end: Place,
  limit: number,
  contents: boolean
): Promise<MessageRow[]> {
  const found: MessageRow[] = []
  // Messages may have been removed in between, so that ranges have fewer than they seem to.
  for (let next: Place | undefined = end; next !== undefined && found.length < limit;) {
    const left: number = limit - found.length
    const { stretches, rest } = await findStretches(db, next, left)
    if (stretches.length > 0)
      for (const { session_key: key, seq, turn_id: turnId, short, size } of await selectRows(db, contents)
        .select('session_key')
        .where(({ eb, and, or }) => or(stretches.map((stretch) => and(isIn(eb as never, stretch)))))
        .orderBy('seq', 'desc')
        .limit(left)
        .execute())
        found.push({ key, seq, turnId, short, size })
    next = rest
  }
  return found
}

function isIn(eb: ExpressionBuilder<Tables, 'session_message'>, { key, from, to }: Stretch) {
  return [eb('session_key', '=', key), eb('seq', '>=', from), eb('seq', '<=', to)]
}

function selectRows(db: Kysely<Tables>, contents: boolean) {
  const size = contents ? sql<number>`octet_length(message)` : sql<number>`0`
  const short = contents
    ? sql<string | null>`case when octet_length(message) <= ${MAX_PAGED} then message end`
    : sql<string | null>`null`
  return db.selectFrom('session_message').select(['seq', 'turn_id', short.as('short'), size.as('size')])
}

async function readLarge(db: Kysely<Tables>, { key, seq }: Place): Promise<string | undefined> {
  const row = db.selectFrom('session_message').select('message').where('session_key', '=', key)
  return (await row.where('seq', '=', seq).executeTakeFirst())?.message
}
