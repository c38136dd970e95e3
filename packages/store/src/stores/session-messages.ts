import type { SessionMessage, StoredMessage } from '@svc/registry'
import { createPause } from '@svc/registry/kit'
import { sql, type Kysely } from 'kysely'
import { parseStored, type SkipDamaged } from '../encoding/stored-values.ts'
import type { Tables } from '../tables.ts'

// Larger messages, in bytes, are read one by one.
const MAX_PAGED = 65_536

/**
 * Reads messages of a session, newest first; a damaged one is null.
 * @param end only those before this one
 */
export async function readMessages(
  db: Kysely<Tables>,
  sessionKey: string,
  limit: number,
  end: number | undefined,
  skipDamaged: SkipDamaged
): Promise<StoredMessage[]> {
  const short = sql<string | null>`case when octet_length(message) <= ${MAX_PAGED} then message end`
  let query = db.selectFrom('session_message').select(['seq', 'turn_id', short.as('short')])
  query = query.where('session_key', '=', sessionKey)
  if (end !== undefined) query = query.where('seq', '<', end)
  const rows = await query.orderBy('seq', 'desc').limit(limit).execute()
  const pause = createPause()
  const messages: StoredMessage[] = []
  for (const { seq, turn_id: turnId, short: json } of rows) {
    const stored = json ?? (await readLarge(db, sessionKey, seq))
    // The session was removed meanwhile.
    if (stored === undefined) break
    const message = parseStored<SessionMessage>(stored) ?? null
    if (message === null) skipDamaged('session_message', `${sessionKey} ${seq}`)
    messages.push({ seq, turnId, message })
    if (json === null) await pause()
  }
  return messages
}

async function readLarge(db: Kysely<Tables>, sessionKey: string, seq: number): Promise<string | undefined> {
  const row = db.selectFrom('session_message').select('message').where('session_key', '=', sessionKey)
  return (await row.where('seq', '=', seq).executeTakeFirst())?.message
}
