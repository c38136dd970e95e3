import type { Commit } from '../commit.ts'
import type { Retention } from '../options.ts'

/**
 * Removes messages that have been dead for as long as finished runs are kept, those whose webhook was removed meanwhile, and webhooks of
 * runs that are over and whose messages are gone; returns their number.
 */
export async function sweepWebhooks(commit: Commit, { maxAge }: Retention, now: number): Promise<number> {
  return commit.writeAmongOthers(async (trx) => {
    const dead = trx
      .deleteFrom('webhook_delivery')
      .where('dead', '=', 1)
      .where('due_at', '<=', now - maxAge)
    const left = trx
      .deleteFrom('webhook_delivery')
      .where(({ exists, not, selectFrom }) =>
        not(
          exists(
            selectFrom('webhook as w')
              .select('w.webhook_id')
              .whereRef('w.webhook_id', '=', 'webhook_delivery.webhook_id')
          )
        )
      )
    // A webhook is added before its run is, and a run that never came is as old as one that has expired.
    const over = trx
      .deleteFrom('webhook')
      .where('run_id', 'is not', null)
      .where(({ and, exists, not, or, eb, selectFrom }) => {
        const run = selectFrom('run as r').select('r.run_id').whereRef('r.run_id', '=', 'webhook.run_id')
        const message = selectFrom('webhook_delivery as d')
          .select('d.seq')
          .whereRef('d.webhook_id', '=', 'webhook.webhook_id')
        const hasEnded = exists(run.where('r.ended_at', 'is not', null))
        const neverCame = and([eb('created_at', '<=', now - maxAge), not(exists(run))])
        return and([not(exists(message)), or([hasEnded, neverCame])])
      })
    let removed = 0
    for (const each of [dead, left, over]) removed += Number((await each.executeTakeFirst()).numDeletedRows)
    return removed
  })
}
