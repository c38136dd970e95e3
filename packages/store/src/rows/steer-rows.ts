import { RUN_ERR_DAMAGED, type SteeringMessage, type StoredSteer } from '@svc/contract'
import type { Kysely, Selectable } from 'kysely'
import { parseStored } from '../encoding/stored-values.ts'
import type { Tables } from '../tables.ts'
import { TERMINAL } from './run-rows.ts'

/** As `RunStore.offerSteer`, in a transaction. */
export async function offerSteer(trx: Kysely<Tables>, steer: StoredSteer): Promise<StoredSteer | undefined> {
  const earlier = await findSteer(trx, steer.steerId)
  if (earlier !== undefined) return earlier
  const run = trx.selectFrom('run').select('run_id').where('run_id', '=', steer.runId)
  if ((await run.where('status', 'not in', TERMINAL).executeTakeFirst()) === undefined) return undefined
  const { steerId, runId, hash, message } = steer
  const row = { steer_id: steerId, run_id: runId, hash, message: JSON.stringify(message) }
  await trx.insertInto('run_steer').values(row).execute()
  return steer
}

/** As `RunStore.findSteer`. @throws RUN_ERR_DAMAGED */
export async function findSteer(db: Kysely<Tables>, steerId: string): Promise<StoredSteer | undefined> {
  const row = await db.selectFrom('run_steer').selectAll().where('steer_id', '=', steerId).executeTakeFirst()
  return row && toSteer(row)
}

function toSteer(row: Selectable<Tables['run_steer']>): StoredSteer {
  const message = parseStored<SteeringMessage>(row.message)
  if (message === undefined) throw new RUN_ERR_DAMAGED('a message that was to join it')
  return { steerId: row.steer_id, runId: row.run_id, hash: row.hash, message }
}
