import { SILENT_LOG, type RunLog, type Stores } from '@svc/contract'
import { requireNode } from '@svc/registry/engine'
import { SessionLocks } from '@svc/contract/stores'
import { createSkipDamaged } from './encoding/values.ts'
import { createSweeps } from './maintenance/create-sweeps.ts'
import { Removals } from './maintenance/removals.ts'
import { createFileSweep } from './maintenance/sweep-files.ts'
import { resolveOptions, type StoreOptions } from './options.ts'
import { openPostgres } from './postgres/open-postgres.ts'
import { openSqlite } from './sqlite/open-sqlite.ts'
import {
  createBrowserStateStore,
  createCheckpointStore,
  createRemoteSessionStore
} from './stores/session-states.ts'
import { createFileStore } from './stores/file-store.ts'
import { createMemoryStore } from './stores/memory-store.ts'
import { createRunQueue, createRunStore } from './stores/run-store.ts'
import { createScheduleStore } from './stores/schedule-store.ts'
import { createSessionIndex } from './stores/session-index.ts'
import { createSessionStore } from './stores/session-store.ts'
import { createWebhookStore } from './stores/webhook-store.ts'
import { createTaskStore } from './stores/task-store.ts'

/** Every store of the contract, on one database. */
export interface Store
  extends
    Required<Omit<Stores, 'browserStates' | 'counters' | 'lease'>>,
    Pick<Stores, 'browserStates' | 'counters' | 'lease'> {
  /** Probes the database with a small write and read. @throws the database's error */
  check(): Promise<void>
  /** Commits what is pending and closes the database; a second call does nothing. */
  close(): Promise<void>
}

/**
 * Opens a database and applies pending migrations. A Postgres that cannot be reached yet is opened as soon as it can: until then every
 * call is refused.
 * @param logger receives the names of damaged rows
 * @throws REG_ERR_OLD_NODE, STO_ERR_BAD_OPTION, STO_ERR_OPEN, STO_ERR_NEWER_SCHEMA; for a file STO_ERR_IN_USE and STO_ERR_HARD_LINKS; on
 * Postgres STO_ERR_DRIVER_MISSING and STO_ERR_OTHER_TABLES
 */
export async function createStore(
  options: StoreOptions = {},
  logger: Pick<RunLog, 'error'> = SILENT_LOG
): Promise<Store> {
  requireNode()
  const { database, retention, files: limits, stateKey } = resolveOptions(options)
  const backend =
    database.kind === 'sqlite' ? await openSqlite(database) : await openPostgres(database, logger)
  const { db, commit, bytes, log, control, node, claimant, dispatch } = backend
  const removals = new Removals(log.abandon)
  if (node) removals.listen((runIds) => node.forgetPlaces(runIds))
  const skipDamaged = createSkipDamaged(logger)
  const writing = new Set<string>()
  const locks = new SessionLocks()
  const sweeps = createSweeps(backend, retention, removals, createFileSweep(db, commit, bytes, writing))
  let closed: Promise<void> | undefined

  return {
    log: node ? log : locks.watch(log),
    runs: { ...createRunStore(db, commit, sweeps.runs, removals), ...backend.runs },
    sessions: {
      ...createSessionStore(db, commit, skipDamaged, sweeps.sessions, locks, backend.sessionEntry),
      ...node?.sessions
    },
    sessionIndex: createSessionIndex(db, commit, skipDamaged, backend.sessionEntry),
    memory: createMemoryStore(db, commit, retention, skipDamaged, sweeps.memories),
    tasks: createTaskStore(db, commit, claimant, skipDamaged),
    checkpoints: { ...createCheckpointStore(db, skipDamaged), ...backend.checkpoints },
    files: createFileStore(db, commit, bytes, writing, limits, skipDamaged),
    ...(stateKey && { browserStates: createBrowserStateStore(db, commit, stateKey, skipDamaged) }),
    remoteSessions: createRemoteSessionStore(db, commit),
    queue: createRunQueue(db, commit, claimant, dispatch),
    schedules: createScheduleStore({ db, commit, claimant, dispatch, skipDamaged, sweep: sweeps.schedules }),
    webhooks: createWebhookStore({
      db,
      commit,
      reports: backend.reports,
      skipDamaged,
      sweep: sweeps.webhooks
    }),
    control,
    ...(node && { lease: node.lease, counters: node.counters }),
    check: backend.check,
    close: () => (closed ??= backend.close())
  }
}
