import { randomUUID } from 'node:crypto'
import type { Kysely } from 'kysely'
import { NEWEST } from '../rows/session-branches.ts'
import type { Tables } from '../tables.ts'

/** A part of what a session has saved: from one branch up to the next, and up to which message a fork reaches it. */
interface Piece {
  readonly first: number
  readonly end: number
  /** 0 if no fork reaches it. */
  reached: number
}

/** The sessions among these that have forks which are not. */
export async function findForked(db: Kysely<Tables>, keys: readonly string[]): Promise<string[]> {
  const rows = db.selectFrom('session_branch').select('parent_key').distinct().where('parent_key', 'in', keys)
  return (await rows.where('session_key', 'not in', keys).execute()).map(({ parent_key }) => parent_key)
}

/** What these sessions are forks of. */
export async function findOrigins(db: Kysely<Tables>, keys: readonly string[]): Promise<string[]> {
  const rows = db
    .selectFrom('session_branch')
    .select('parent_key')
    .distinct()
    .where('session_key', 'in', keys)
  return (await rows.where('parent_key', 'not in', keys).execute()).map(({ parent_key }) => parent_key)
}

/**
 * Gives the messages of a session that is removed a key that no session has, and removes those that no fork reaches; returns the number
 * of the others.
 */
export async function leaveToForks(db: Kysely<Tables>, sessionKey: string): Promise<number> {
  const left = `left/${randomUUID()}`
  await db
    .updateTable('session_branch')
    .set({ session_key: left })
    .where('session_key', '=', sessionKey)
    .execute()
  await db
    .updateTable('session_branch')
    .set({ parent_key: left })
    .where('parent_key', '=', sessionKey)
    .execute()
  await db
    .updateTable('session_message')
    .set({ session_key: left })
    .where('session_key', '=', sessionKey)
    .execute()
  await prune(db, [left])
  const { count } = await db
    .selectFrom('session_message')
    .select((select) => select.fn.countAll<number>().as('count'))
    .where('session_key', '=', left)
    .executeTakeFirstOrThrow()
  return count
}

/** Removes what removed sessions have left and no fork reaches any more; does nothing to sessions that exist. */
export async function prune(db: Kysely<Tables>, keys: readonly string[]): Promise<void> {
  for (const key of keys) {
    const session = db.selectFrom('session').select('session_key').where('session_key', '=', key)
    if ((await session.executeTakeFirst()) !== undefined) continue
    const origins = await findOrigins(db, [key])
    for (const [from, to] of unreachedOf(await findReached(db, key))) {
      const messages = db.deleteFrom('session_message').where('session_key', '=', key)
      await messages.where('seq', '>=', from).where('seq', '<=', to).execute()
      const branches = db.deleteFrom('session_branch').where('session_key', '=', key)
      await branches.where('first_seq', '>=', from).where('first_seq', '<=', to).execute()
    }
    await prune(db, origins)
  }
}

/** The pieces of a session, and how far forks reach them. */
export async function findReached(db: Kysely<Tables>, key: string): Promise<Piece[]> {
  const rows = db.selectFrom('session_branch').selectAll().where('session_key', '=', key)
  const branches = await rows.orderBy('first_seq').execute()
  const firsts = [...(branches[0]?.first_seq === 1 ? [] : [1]), ...branches.map(({ first_seq }) => first_seq)]
  const pieces: Piece[] = firsts.map((first, at) => ({
    first,
    end: (firsts[at + 1] ?? NEWEST) - 1,
    reached: 0
  }))
  const parents = new Map(branches.map((branch) => [branch.first_seq, branch]))
  const forks = db.selectFrom('session_branch').select('parent_seq').distinct().where('parent_key', '=', key)
  for (const { parent_seq } of await forks.where('session_key', '!=', key).execute())
    for (let seq = parent_seq; seq > 0;) {
      const piece = pieces.findLast(({ first }) => first <= seq)!
      const isNew = piece.reached === 0
      piece.reached = Math.max(piece.reached, seq)
      const parent = parents.get(piece.first)
      seq = isNew && parent?.parent_key === key ? parent.parent_seq : 0
    }
  return pieces
}

// Ranges of numbers, both ends included.
function unreachedOf(pieces: readonly Piece[]): [from: number, to: number][] {
  const ranges: [number, number][] = []
  for (const { first, end, reached } of pieces) {
    const from = reached === 0 ? first : reached + 1
    const last = ranges.at(-1)
    if (reached === 0 && last !== undefined && last[1] === first - 1) last[1] = end
    else if (from <= end) ranges.push([from, end])
  }
  return ranges
}
