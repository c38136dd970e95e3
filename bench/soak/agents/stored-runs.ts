import { DatabaseSync } from 'node:sqlite'
import { setTimeout as wait } from 'node:timers/promises'
import { isTerminalStatus, type NumberedPart } from '@svc/registry'
import { createStore } from '@svc/store'

/** The logs of the runs that a dead process left in its database unfinished, by the ids of the runs. */
export async function unfinishedLogs(db: string): Promise<Map<string, NumberedPart[]>> {
  const store = await createStore({ url: `sqlite:${db}` })
  try {
    const logs = new Map<string, NumberedPart[]>()
    for (const { runId } of (await store.runs.listLeft({ limit: 1_000 })).runs) {
      const stored = await store.runs.get(runId)
      if (stored === undefined || isTerminalStatus(stored.status)) continue
      const entries = await store.log.read(runId, 0, { entries: 100_000, bytes: Infinity })
      logs.set(
        runId,
        entries.map(({ part }) => part)
      )
    }
    return logs
  } finally {
    await store.close()
  }
}

/** What was kept to resume runs, and is still there a while after they have ended. */
export async function leftovers(db: string): Promise<string[]> {
  const database = new DatabaseSync(db, { readOnly: true })
  try {
    const left = () => rowsOfEnded(database)
    for (let look = 0; look < 20 && left().length > 0; look++) await wait(100)
    return left()
  } finally {
    database.close()
  }
}

function rowsOfEnded(database: DatabaseSync): string[] {
  return ['run_step', 'checkpoint'].flatMap((table) =>
    database
      .prepare(`select distinct run_id from ${table} join run using (run_id) where ended_at is not null`)
      .all()
      .map((row) => `${table} of run ${String(row['run_id'])}`)
  )
}
