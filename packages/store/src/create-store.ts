import { SILENT_LOG, type RunLog, type Stores } from '@svc/registry'
import { createInProcessControlBus } from '@svc/registry/store-kit'
import { requireNode } from '@svc/registry/kit'
import { Kysely } from 'kysely'
import { createBytesInFolder } from './files/bytes-in-folder.ts'
import { createBytesInMemory } from './files/bytes-in-memory.ts'
import { createBrowserStateStore } from './stores/browser-state-store.ts'
import { createCheckpointStore } from './stores/checkpoint-store.ts'
import { createFileStore } from './stores/file-store.ts'
import { GroupCommit } from './group-commit.ts'
import { createMemoryStore } from './stores/memory-store.ts'
import { migrate } from './migrations/migrate.ts'
import { resolveOptions, type StoreOptions } from './options.ts'
import { probe } from './maintenance/probe.ts'
import { createRunStore } from './stores/run-store.ts'
import { createSessionStore } from './stores/session-store.ts'
import { createNodeSqliteDialect } from './sqlite/node-sqlite-dialect.ts'
import { openDatabase } from './sqlite/open-database.ts'
import { createStreamLog } from './stores/stream-log.ts'
import { createSweep, freePages } from './maintenance/create-sweep.ts'
import { Removals } from './maintenance/removals.ts'
import { createFileSweep } from './maintenance/sweep-files.ts'
import { sweepMemories } from './maintenance/sweep-memories.ts'
import { sweepRuns } from './maintenance/sweep-runs.ts'
import { sweepSessions } from './maintenance/sweep-sessions.ts'
import { createSkipDamaged } from './encoding/stored-values.ts'
import type { Tables } from './tables.ts'
import { createTaskStore } from './stores/task-store.ts'

/** Every store of the contract, on one database. */
export interface Store
  extends Required<Omit<Stores, 'browserStates' | 'lease'>>, Pick<Stores, 'browserStates' | 'lease'> {
  /** Probes the database with a small write and read. @throws the database's error */
  check(): Promise<void>
  /** Commits what is pending and closes the database; a second call does nothing. */
  close(): Promise<void>
}

/**
 * Opens a database and applies pending migrations.
 * @param logger receives the names of damaged rows
 * @throws REG_ERR_OLD_NODE, STO_ERR_BAD_OPTION, STO_ERR_OPEN, STO_ERR_IN_USE, STO_ERR_HARD_LINKS
 */
export async function createStore(
  options: StoreOptions = {},
  logger: Pick<RunLog, 'error'> = SILENT_LOG
): Promise<Store> {
  requireNode()
  const { retention, files: limits, stateKey, ...where } = resolveOptions(options)
  const opened = openDatabase(where)
  const db = new Kysely<Tables>({ dialect: createNodeSqliteDialect(opened) })
  try {
    await migrate(db as unknown as Kysely<never>)
  } catch (err) {
    await db.destroy()
    throw err
  }
  const commit = new GroupCommit(db, opened.requireFile)
  const log = createStreamLog(db, commit)
  const shrink = async () => {
    while (await commit.write(async () => freePages(opened.database)));
  }
  const removals = new Removals(log.abandon)
  const skipDamaged = createSkipDamaged(logger)
  const bytes =
    opened.path === undefined
      ? createBytesInMemory()
      : createBytesInFolder(`${opened.path}-files`, { synced: where.durability === 'full' })
  const writing = new Set<string>()
  const sweepFiles = createFileSweep(db, commit, bytes, writing)
  const sweepOfRuns = createSweep(async (now) => {
    const removed = await sweepRuns(db, commit, retention, now, removals)
    await sweepFiles(now)
    return removed
  }, shrink)
  const sweepOfSessions = createSweep((now) => sweepSessions(db, commit, retention, now), shrink)
  const sweepOfMemories = createSweep((now) => sweepMemories(db, commit, retention, now), shrink)
  let closed: Promise<void> | undefined

  return {
    log,
    runs: createRunStore(db, commit, sweepOfRuns, removals),
    sessions: createSessionStore(db, commit, skipDamaged, sweepOfSessions),
    memory: createMemoryStore(db, commit, retention, skipDamaged, sweepOfMemories),
    tasks: createTaskStore(db, commit, skipDamaged),
    checkpoints: createCheckpointStore(db, commit, skipDamaged),
    files: createFileStore(db, commit, bytes, writing, limits, skipDamaged),
    ...(stateKey && { browserStates: createBrowserStateStore(db, commit, stateKey, skipDamaged) }),
    // Only one process can open the file, so control messages never leave it.
    control: createInProcessControlBus(),
    check: () => probe(commit, opened.database),
    close: () => (closed ??= commit.close().then(() => db.destroy()))
  }
}
