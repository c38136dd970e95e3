import type { StepRecord } from '@svc/registry'
import type { Insertable, Kysely, Selectable } from 'kysely'
import type { Tables } from '../tables.ts'

type StepRow = Insertable<Tables['run_step']>

/** The row of a recorded step; the output is null if it has no JSON. */
export function toStepRow(runId: string, { key, output }: StepRecord): Selectable<Tables['run_step']> {
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

/** Removes what only a resumption needs, its steps and its checkpoint: they may have more than the log of the run shows. */
export async function removeProgress(db: Kysely<Tables>, runId: string): Promise<void> {
  for (const table of ['run_step', 'checkpoint'] as const)
    await db.deleteFrom(table).where('run_id', '=', runId).execute()
}
