import type { StepRecord } from '@svc/registry'
import type { Insertable, Kysely } from 'kysely'
import type { Tables } from '../tables.ts'

type StepRow = Insertable<Tables['run_step']>

/** The row of a recorded step; the output is null if it has no JSON. */
export function toStepRow(runId: string, { key, output }: StepRecord): StepRow {
  return { run_id: runId, key, output: JSON.stringify(output) ?? null }
}

/** The size of steps in bytes. */
export function bytesOfSteps(rows: readonly StepRow[]): number {
  return rows.reduce((sum, { output }) => sum + Buffer.byteLength(output ?? ''), 0)
}

/** Records steps; the first output of a key counts. */
export async function insertSteps(db: Kysely<Tables>, rows: readonly StepRow[]): Promise<void> {
  await db
    .insertInto('run_step')
    .values(rows)
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}

/** Removes the steps of a run that has ended: they may have more than its log shows. */
export async function removeSteps(db: Kysely<Tables>, runId: string): Promise<void> {
  await db.deleteFrom('run_step').where('run_id', '=', runId).execute()
}
