import { sql, type Kysely } from 'kysely'
import type { Commit } from '../commit.ts'
import type { Tables } from '../tables.ts'
import { removeInBatches } from './remove-in-batches.ts'

// Rows per query.
const PAGE = 200
// Pages of webhooks of runs that one sweep looks at.
const MAX_PAGES = 100

/**
 * Creates the sweep of webhooks, which removes messages that have been dead for as long as finished runs are kept, those whose webhook was
 * removed meanwhile, and webhooks of runs that are over and whose messages are gone; it returns their number. Of the last two a call looks at
 * some, the next one at those after them, and so on around.
 */
export function createWebhookSweep(
  db: Kysely<Tables>,
  maxAge: number
): (now: number, commit: Commit) => Promise<number> {
  let lastSeq = 0
  let lastId = ''
  const sweepLeft = async (commit: Commit) => {
    const messages = db
      .selectFrom('webhook_delivery')
      .select(['seq', 'webhook_id'])
      .where('seq', '>', lastSeq)
    const page = await messages.orderBy('seq').limit(PAGE).execute()
    lastSeq = page.length < PAGE ? 0 : page.at(-1)!.seq
    const ids = [...new Set(page.map(({ webhook_id }) => webhook_id))]
    const webhooks = await db
      .selectFrom('webhook')
      .select('webhook_id')
      .where('webhook_id', 'in', ids)
      .execute()
    const known = new Set(webhooks.map(({ webhook_id }) => webhook_id))
    const left = page.filter(({ webhook_id }) => !known.has(webhook_id)).map(({ seq }) => seq)
    if (left.length === 0) return 0
    const removed = await commit.writeAmongOthers((trx) =>
      trx.deleteFrom('webhook_delivery').where('seq', 'in', left).executeTakeFirst()
    )
    return Number(removed.numDeletedRows)
  }
  const sweepOver = async (now: number, commit: Commit) => {
    const webhooks = db.selectFrom('webhook').select(['webhook_id', 'run_id', 'created_at'])
    const ofRuns = webhooks.where('run_id', 'is not', null).where('webhook_id', '>', lastId)
    const page = await ofRuns.orderBy('webhook_id').limit(PAGE).execute()
    lastId = page.length < PAGE ? '' : page.at(-1)!.webhook_id
    if (page.length === 0) return 0
    const runIds = page.map(({ run_id }) => run_id!)
    const runs = await db
      .selectFrom('run')
      .select(['run_id', 'ended_at'])
      .where('run_id', 'in', runIds)
      .execute()
    const ends = new Map(runs.map(({ run_id, ended_at }) => [run_id, ended_at]))
    // A webhook is added before its run is, and a run that never came is as old as one that has expired.
    const over = page.filter(({ run_id, created_at }) => {
      const end = ends.get(run_id!)
      return end === undefined ? created_at <= now - maxAge : end !== null
    })
    const removed = await commit.writeAmongOthers((trx) =>
      trx
        .deleteFrom('webhook')
        .where(
          'webhook_id',
          'in',
          over.map(({ webhook_id }) => webhook_id)
        )
        .where(({ exists, not, selectFrom }) =>
          not(
            exists(
              selectFrom('webhook_delivery as d')
                .select('d.seq')
                .whereRef('d.webhook_id', '=', 'webhook.webhook_id')
            )
          )
        )
        .executeTakeFirst()
    )
    return Number(removed.numDeletedRows)
  }
  return async (now, commit) => {
    let removed = await removeInBatches(commit, {
      table: 'webhook_delivery',
      key: 'seq',
      time: 'due_at',
      until: now - maxAge,
      where: sql`dead = 1`
    })
    removed += await sweepLeft(commit)
    for (let pages = 0; pages < MAX_PAGES; pages++) {
      removed += await sweepOver(now, commit)
      if (lastId === '') break
    }
    return removed
  }
}
