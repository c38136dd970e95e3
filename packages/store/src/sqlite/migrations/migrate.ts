import type { Kysely } from 'kysely'
import { Migrator, type Migration } from 'kysely/migration'
import { STO_ERR_OPEN } from '../../errors.ts'
import { retryBusy } from '../group-commit.ts'
import { createFirstTables } from './0001-first-tables.ts'
import { addFiles } from './0002-files.ts'
import { addBrowserStates } from './0003-browser-states.ts'
import { addCancelRequests } from './0004-cancel-requests.ts'
import { addClaimedPushes } from './0005-claimed-pushes.ts'
import { addRemoteSessions } from './0006-remote-sessions.ts'
import { addQueuedRuns } from './0007-queued-runs.ts'
import { addSealedAnswers } from './0008-sealed-answers.ts'
import { addSchedules } from './0009-schedules.ts'
import { addSessionList } from './0010-session-list.ts'
import { addLeftTurns } from './0011-left-turns.ts'
import { addOwnedRows } from './0012-owned-rows.ts'
import { addSessionBranches } from './0013-session-branches.ts'
import { addSteers } from './0014-steers.ts'
import { addWebhooks } from './0015-webhooks.ts'
import { addRunStats } from './0016-run-stats.ts'
import { addQueueLines } from './0017-queue-lines.ts'
import { addRunFormat } from './0018-run-format.ts'
import { addSessionSettings } from './0019-session-settings.ts'
import { indexNamedSessions } from './0020-named-sessions.ts'
import { addMemoryCodes } from './0021-memory-codes.ts'
import { addSessionSlots } from './0022-session-slots.ts'

/** Every migration by its name, in order: one a file. A released one never changes. */
export const MIGRATIONS: Readonly<Record<string, Migration>> = {
  '0001-first-tables': { up: createFirstTables },
  '0002-files': { up: addFiles },
  '0003-browser-states': { up: addBrowserStates },
  '0004-cancel-requests': { up: addCancelRequests },
  '0005-claimed-pushes': { up: addClaimedPushes },
  '0006-remote-sessions': { up: addRemoteSessions },
  '0007-queued-runs': { up: addQueuedRuns },
  '0008-sealed-answers': { up: addSealedAnswers },
  '0009-schedules': { up: addSchedules },
  '0010-session-list': { up: addSessionList },
  '0011-left-turns': { up: addLeftTurns },
  '0012-owned-rows': { up: addOwnedRows },
  '0013-session-branches': { up: addSessionBranches },
  '0014-steers': { up: addSteers },
  '0015-webhooks': { up: addWebhooks },
  '0016-run-stats': { up: addRunStats },
  '0017-queue-lines': { up: addQueueLines },
  '0018-run-format': { up: addRunFormat },
  '0019-session-settings': { up: addSessionSettings },
  '0020-named-sessions': { up: indexNamedSessions },
  '0021-memory-codes': { up: addMemoryCodes },
  '0022-session-slots': { up: addSessionSlots }
}

// Milliseconds to wait for another program's lock.
const PATIENCE = 5_000

/** Applies pending migrations, each in its own transaction; returns their names. @throws STO_ERR_OPEN */
export async function migrate(db: Kysely<never>, migrations = MIGRATIONS): Promise<string[]> {
  try {
    return await upgrade(db, migrations)
  } catch (err) {
    throw new STO_ERR_OPEN((err as Error).message, { cause: err })
  }
}

async function upgrade(db: Kysely<never>, migrations: typeof MIGRATIONS): Promise<string[]> {
  const applied: string[] = []
  const provider = { getMigrations: async () => migrations }
  const next = () =>
    db.transaction().execute(async (trx) => {
      const { error, results } = await new Migrator({ db: trx, provider }).migrateUp()
      if (error !== undefined) throw error as Error
      return results?.[0]?.migrationName
    })
  for (;;) {
    const name = await retryBusy(next, PATIENCE)
    if (name === undefined) return applied
    applied.push(name)
  }
}
