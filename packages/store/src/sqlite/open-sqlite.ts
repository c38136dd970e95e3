import type { DatabaseSync } from 'node:sqlite'
import { randomId } from '@svc/contract'
import { createInProcessControlBus } from '@svc/registry/engine'
import { QueueWorkers } from '@svc/contract/stores'
import { Kysely } from 'kysely'
import type { Backend, Dispatch } from '../backend.ts'
import { createBytesInFolder } from '../files/bytes-in-folder.ts'
import { createBytesInMemory } from '../files/bytes-in-memory.ts'
import { probe } from '../maintenance/probe.ts'
import type { SqliteOptions } from '../options.ts'
import type { LocalLogs } from '../runs/local-logs.ts'
import type { Tables } from '../tables.ts'
import { GroupCommit } from './group-commit.ts'
import { migrate } from './migrations/migrate.ts'
import { createNodeSqliteDialect } from './node-sqlite-dialect.ts'
import { openDatabase } from './open-database.ts'
import { openRuns } from './open-runs.ts'

// Free pages that the file keeps for later writes: 16 MiB.
const KEPT = 4_096
// Pages per call, so that other work runs between two calls.
const SLICE = 1_000

/** An open file or database in memory. */
interface OpenedSqlite extends Backend {
  /** The names of the migrations that were pending. */
  readonly applied: readonly string[]
}

/** Opens a file, or a database in memory, and applies pending migrations. */
export async function openSqlite(options: SqliteOptions): Promise<OpenedSqlite> {
  const opened = openDatabase(options)
  const { database, path } = opened
  const db = new Kysely<Tables>({ dialect: createNodeSqliteDialect(opened) })
  let applied: readonly string[]
  try {
    applied = await migrate(db as unknown as Kysely<never>)
  } catch (err) {
    await db.destroy()
    throw err
  }
  const processId = randomId()
  const commit = new GroupCommit(db, opened.requireFile)
  const { logs, log, runs, checkpoints, sessionEntry, reports } = openRuns(db, commit, database)
  return {
    applied,
    db,
    commit,
    bytes:
      path === undefined
        ? createBytesInMemory()
        : createBytesInFolder(`${path}-files`, { synced: options.durability === 'full' }),
    log,
    runs,
    checkpoints,
    sessionEntry,
    reports,
    // Only one process can open the file, so control messages never leave it.
    control: createInProcessControlBus(),
    dispatch: createLocalDispatch(logs),
    node: undefined,
    days: undefined,
    claimant: { id: () => processId, isShared: false },
    async sweep(_name, remove) {
      const removed = await remove()
      while (await commit.write(async () => freePages(database)));
      return removed
    },
    async check() {
      try {
        await probe(commit)
      } catch (err) {
        // Cached damaged pages would outlive their repair.
        if (database.isOpen) database.exec('pragma shrink_memory')
        throw err
      }
    },
    async close() {
      await commit.close()
      await db.destroy()
    }
  }
}

// Only this process adds runs.
function createLocalDispatch(logs: LocalLogs): Dispatch {
  const workers = new QueueWorkers()
  return {
    ready() {},
    added() {},
    planned() {},
    left(runId) {
      logs.disown(runId)
      workers.look(1)
    },
    taken: (runId) => logs.own(runId, false),
    serve: (concurrency, take) => workers.serve(concurrency, take),
    look: () => workers.look()
  }
}

// Returns some unused pages to the file system; true if more remain.
function freePages(database: DatabaseSync): boolean {
  const before = countFree(database)
  if (before <= KEPT) return false
  database.exec(`pragma incremental_vacuum(${Math.min(SLICE, before - KEPT)})`)
  const left = countFree(database)
  // A file without `auto_vacuum` keeps its pages and reuses them.
  return left < before && left > KEPT
}

function countFree(database: DatabaseSync): number {
  return Number(database.prepare('pragma freelist_count').get()!['freelist_count'])
}
