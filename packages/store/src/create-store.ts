import {
  sessionKeyText,
  SILENT_LOG,
  type MessagePage,
  type RunLog,
  type SessionIndex,
  type Stores
} from '@svc/contract'
import { formatMessageCursor, parseMessageCursor, SessionLocks } from '@svc/contract/stores'
import { requireNode } from '@svc/registry/engine'
import type { Kysely } from 'kysely'
import { refuse, type Commit } from './commit.ts'
import { createSkipDamaged, type SkipDamaged } from './encoding/values.ts'
import type { FileBytes } from './files/file-bytes.ts'
import { createSweeps, Removals } from './maintenance/create-sweeps.ts'
import { resolveOptions, type StoreOptions } from './options.ts'
import { openPostgres } from './postgres/open-postgres.ts'
import { findForks, findLeaf, forkSession, requireTurn } from './rows/session-branches.ts'
import { findSession, listSessions } from './rows/session-rows.ts'
import type { SessionEntry } from './runs/run-write.ts'
import { openSqlite } from './sqlite/open-sqlite.ts'
import { createFileStore } from './stores/file-store.ts'
import { createMemoryStore } from './stores/memory-store.ts'
import { createRunQueue, createRunStore } from './stores/run-store.ts'
import { createScheduleStore } from './stores/schedule-store.ts'
import { readBranches } from './stores/session-branches.ts'
import { readMessages } from './stores/session-messages.ts'
import {
  createBrowserStateStore,
  createCheckpointStore,
  createRemoteSessionStore
} from './stores/session-states.ts'
import { createSessionStore } from './stores/session-store.ts'
import { createTaskStore } from './stores/task-store.ts'
import { createWebhookStore } from './stores/webhook-store.ts'
import type { Tables } from './tables.ts'

// Files per transaction or query, so that other work runs between two.
const BATCH = 100
const HOUR = 3_600_000
// A run outside an engine is not stored, but reads its files while it lasts.
const LEFT_FOR = 24 * HOUR
// A table, its key, and its column with the id of a run.
const FILES = ['file', 'file_id', 'file.run_id'] as const
const TASKS = ['task', 'task_id', 'task.task_id'] as const

/**
 * Creates the sweep of files, which acts at its first call and then once an hour. Removes what crashes left: bytes without a row, and
 * after a day the files and tasks of runs that are not stored: a run may be removed while they are being written. A file whose bytes are
 * missing goes with its run: the disk that has them may not be mounted yet.
 * @param writing the files that are being written
 */
function createFileSweep(
  db: Kysely<Tables>,
  commit: Commit,
  bytes: FileBytes,
  writing: ReadonlySet<string>
): (now: number) => Promise<void> {
  let sweptAt = -Infinity
  return async (now) => {
    if (now - sweptAt < HOUR) return
    for (const table of [FILES, TASKS]) await removeLeft(db, commit, now - LEFT_FOR, table)
    let listed: string[] = []
    for await (const fileId of bytes.list()) {
      if (listed.push(fileId) < BATCH) continue
      await removeUnknown(db, bytes, writing, listed)
      listed = []
    }
    await removeUnknown(db, bytes, writing, listed)
    sweptAt = now
  }
}

async function removeLeft(
  db: Kysely<Tables>,
  commit: Commit,
  before: number,
  [table, id, runId]: typeof FILES | typeof TASKS
): Promise<void> {
  const left = db
    .selectFrom(table as 'file')
    .select(id as 'file_id')
    .where('created_at', '<=', before)
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('run')
            .select('run_id')
            .whereRef('run.run_id', '=', runId as 'file.run_id')
        )
      )
    )
    .limit(BATCH)
  const remove = () =>
    commit.write((trx) =>
      trx
        .deleteFrom(table as 'file')
        .where(id as 'file_id', 'in', left)
        .executeTakeFirst()
    )
  while ((await remove()).numDeletedRows > 0n);
}

async function removeUnknown(
  db: Kysely<Tables>,
  bytes: FileBytes,
  writing: ReadonlySet<string>,
  listed: readonly string[]
): Promise<void> {
  // Before the rows are read: a file that is written by now has its row, if it gets one.
  const written = listed.filter((fileId) => !writing.has(fileId))
  const rows = await db.selectFrom('file').select('file_id').where('file_id', 'in', written).execute()
  const known = new Set(rows.map(({ file_id }) => file_id))
  await bytes.remove(written.filter((fileId) => !known.has(fileId)))
}

/** The list of sessions, in SQL. */
export function createSessionIndex(
  db: Kysely<Tables>,
  commit: Commit,
  skipDamaged: SkipDamaged,
  entry: SessionEntry
): SessionIndex {
  return {
    enter: (key, runId) => entry.enter(key, runId),
    follow: (key, listener) => entry.follow(key, listener),
    find: (key) => findSession(db, sessionKeyText(key)),
    list: (query) => listSessions(db, query),
    update: (key, { title, metadata }) =>
      commit.write(async (trx) => {
        const sessionKey = sessionKeyText(key)
        const change = {
          updated_at: Date.now(),
          ...(title !== undefined && { title }),
          ...(metadata !== undefined && { metadata: metadata && JSON.stringify(metadata) })
        }
        const row = trx.updateTable('session').set(change).where('session_key', '=', sessionKey)
        await row.where('listed', '=', 1).execute()
        return findSession(trx, sessionKey)
      }),
    fork: (key, sessionId, atTurn) =>
      commit.write(async (trx) => {
        const isForked = await forkSession(trx, key, sessionId, atTurn).catch(refuse)
        return isForked ? findSession(trx, sessionKeyText({ ...key, sessionId })) : undefined
      }),
    forks: (key) => findForks(db, sessionKeyText(key)),
    async messages(key, { before: cursor, branch, limit, ...how }): Promise<MessagePage> {
      const sessionKey = sessionKeyText(key)
      const before = cursor === undefined ? undefined : parseMessageCursor(cursor)
      const named = branch === undefined ? undefined : await requireTurn(db, sessionKey, branch)
      const end = named && before === undefined ? await findLeaf(db, sessionKey, named) : undefined
      const from = { end, before, ...how }
      const { messages: found, isCut } = await readMessages(db, sessionKey, limit + 1, from, skipDamaged)
      const page = found.slice(0, limit).toReversed()
      const isFirst = found.length <= limit && !isCut
      return {
        messages: page.map(({ seq, turnId, message }) => ({ seq, turnId, message })),
        branches: await readBranches(db, sessionKey, page, isFirst),
        nextCursor: isFirst ? null : formatMessageCursor(page[0]!.seq)
      }
    },
    async runs(key, after, limit) {
      const rows = await db
        .selectFrom('session_run')
        .select(['ordinal', 'run_id'])
        .where('session_key', '=', sessionKeyText(key))
        .where('ordinal', '>', after)
        .orderBy('ordinal')
        .limit(limit)
        .execute()
      return rows.map(({ ordinal, run_id: runId }) => ({ ordinal, runId }))
    }
  }
}

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
