import type { DatabaseSync } from 'node:sqlite'
import { isTerminalStatus, randomId, type LogEntry, type ReadLimit } from '@svc/contract'
import { entryFromJson, SessionFollowers } from '@svc/contract/stores'
import { createInProcessControlBus } from '@svc/registry/engine'
import { Kysely, sql } from 'kysely'
import type { Backend } from '../backend.ts'
import type { Commit } from '../commit.ts'
import { createBytesInFolder } from '../files/bytes-in-folder.ts'
import { createBytesInMemory } from '../files/file-bytes.ts'
import { countEnded } from '../maintenance/create-sweeps.ts'
import { probe } from '../maintenance/probe.ts'
import type { SqliteOptions } from '../options.ts'
import { isKnownFormat, PART_BYTES, TERMINAL } from '../rows/run-rows.ts'
import { createWrittenCheckpoints, createWrittenRuns, LocalLogs } from '../runs/local-logs.ts'
import { createSessionEntry, Reports } from '../runs/run-write.ts'
import { createStreamLog, type LogReads, type LogWakeUps } from '../runs/stream-log.ts'
import type { RunSources, Tables } from '../tables.ts'
import { CodeCache } from './code-cache.ts'
import { GroupCommit } from './group-commit.ts'
import { createLocalDispatch } from './local-queue.ts'
import { migrate } from './migrations/migrate.ts'
import { createNodeSqliteDialect, openDatabase } from './open-database.ts'
import { SqliteRunWriter } from './run-writer.ts'

// Rows per read: the size of a page is known only after reading it.
const MAX_ROWS = 64

// Larger parts, in bytes, are read only if they still fit the page.
const MAX_PAGED = 65_536

/** Reads pages of logs. */
function createLogReads(db: Kysely<Tables>): LogReads {
  const readLarge = async (runId: string, seq: number) => {
    const row = db.selectFrom('run_part').select('json').where('run_id', '=', runId).where('seq', '=', seq)
    return (await row.executeTakeFirst())?.json
  }
  return {
    async read(runId: string, after: number, limit: ReadLimit) {
      const rows = await db
        .selectFrom('run_part')
        .select('seq')
        .select(sql<string | null>`case when octet_length(json) <= ${MAX_PAGED} then json end`.as('json'))
        .select(sql<number>`octet_length(json)`.as('bytes'))
        .where('run_id', '=', runId)
        .where('seq', '>', after)
        .orderBy('seq')
        .limit(Math.min(limit.entries, MAX_ROWS))
        .execute()
      const entries: LogEntry[] = []
      let bytes = 0
      for (const { seq, json, bytes: size } of rows) {
        bytes += json?.length ?? size
        if (bytes > limit.bytes && entries.length > 0) break
        const whole = json ?? (await readLarge(runId, seq))
        // It was removed meanwhile.
        if (whole === undefined) break
        entries.push(entryFromJson(seq, whole))
      }
      return entries
    }
  }
}

/** What runs write into a database of this process only. */
export interface OpenedRuns extends Pick<
  Backend,
  'log' | 'runs' | 'checkpoints' | 'sessionEntry' | 'writer' | 'reports'
> {
  readonly logs: LocalLogs
}

/** The logs, records and checkpoints of runs, as runs write them. */
export function openRuns(db: Kysely<Tables>, commit: Commit, database: DatabaseSync): OpenedRuns {
  const reports = new Reports(database.prepare('select 1 from webhook limit 1').get() !== undefined)
  const writer = new SqliteRunWriter(commit, database, reports)
  const logs = new LocalLogs()
  const log = createStreamLog({
    writer,
    logs,
    reads: createLogReads(db),
    wakeUps: createLocalWakeUps(commit, logs)
  })
  return {
    logs,
    log,
    writer,
    reports,
    checkpoints: createWrittenCheckpoints(writer),
    sessionEntry: createSessionEntry(writer, new SessionFollowers()),
    runs: {
      ...createWrittenRuns({ db, writer, log, logs, nodeId: () => null }),
      async lease(runId) {
        const leased = await commit.write((trx) =>
          trx
            .updateTable('run')
            .set((set) => ({
              epoch: set('epoch', '+', 1),
              ...(logs.get(runId)?.isOwn !== true && { bytes: sizeOf(runId) })
            }))
            .where('run_id', '=', runId)
            .where('status', 'not in', TERMINAL)
            .where(isKnownFormat)
            .returning('epoch')
            .executeTakeFirst()
        )
        if (leased !== undefined) logs.own(runId, false)
        return leased?.epoch
      }
    }
  }
}

// An earlier process may not have counted its last appends.
function sizeOf(runId: string) {
  const sum = (bytes: string, table: string) =>
    sql<number>`coalesce((select sum(${sql.raw(bytes)}) from ${sql.table(table)} where run_id = ${runId}), 0)`
  return sql<number>`${sum(`octet_length(json) + ${PART_BYTES}`, 'run_part')} + ${sum('octet_length(output)', 'run_step')}
    + ${sum('octet_length(json)', 'run_value')}`
}

// No other process reads or writes.
function createLocalWakeUps(commit: Commit, logs: LocalLogs): LogWakeUps {
  return {
    notify() {},
    isFollowed: () => false,
    announce: (runId) => void wakeIfEnded(commit, logs, runId)
  }
}

// After pending writes, so that a run just created is found.
async function wakeIfEnded(commit: Commit, logs: LocalLogs, runId: string): Promise<void> {
  const known = await commit
    .write((trx) => trx.selectFrom('run').select('status').where('run_id', '=', runId).executeTakeFirst())
    .catch(() => undefined)
  if (known === undefined) logs.wake(runId, true)
  else if (isTerminalStatus(known.status)) logs.wake(runId)
}

// Free pages that the file keeps for later writes: 16 MiB.
const KEPT = 4_096
// Pages per call, so that other work runs between two calls.
const SLICE = 1_000

/** Where lists find runs in SQLite. */
export const ALL_IN_RUN: RunSources = {
  open: 'run',
  ended: 'run',
  changed: 'run',
  labeled: 'run',
  maxScanned: Infinity,
  aged: 'updated_at'
}

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
  const { logs, log, runs, checkpoints, sessionEntry, writer, reports } = openRuns(db, commit, database)
  return {
    applied,
    db,
    sources: ALL_IN_RUN,
    countEnded: () => countEnded(db),
    commit,
    bytes:
      path === undefined
        ? createBytesInMemory()
        : createBytesInFolder(`${path}-files`, { synced: options.durability === 'full' }),
    log,
    runs,
    checkpoints,
    sessionEntry,
    writer,
    reports,
    // Only one process can open the file, so control messages never leave it.
    control: createInProcessControlBus(),
    dispatch: createLocalDispatch(commit, logs),
    node: undefined,
    days: undefined,
    claimant: { id: () => processId, isShared: false },
    codes: new CodeCache(db, database, options.codeBytes),
    async sweep(_name, remove) {
      const removed = await remove(commit)
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
