import { RUN_ERR_FENCED, type RunFence } from '@svc/contract'
import type { Kysely } from 'kysely'
import { Refused } from '../commit.ts'
import type { Tables } from '../tables.ts'

/**
 * Does nothing without a fence.
 * @param isShared locks the run: another process could lease it before what follows is committed
 * @throws RUN_ERR_FENCED as `RunFence` says
 */
export async function requireEpoch(
  db: Kysely<Tables>,
  fence: RunFence | undefined,
  isShared: boolean
): Promise<void> {
  if (fence === undefined) return
  const { runId, epoch } = fence
  const run = db.selectFrom('run').select('run_id').where('run_id', '=', runId).where('epoch', '=', epoch)
  const found = isShared ? run.forShare() : run
  if ((await found.executeTakeFirst()) === undefined) throw new Refused(new RUN_ERR_FENCED(runId))
}
