import {
  sessionKeyText,
  SILENT_LOG,
  type MessagePage,
  type RunLog,
  type SessionIndex,
  type SessionSettings,
  type SessionUpdate,
  type Stores
} from '@svc/contract'
import {
  formatMessageCursor,
  formatSessionCursor,
  parseMessageCursor,
  SessionLocks
} from '@svc/contract/stores'
import { requireNode } from '@svc/registry/engine'
import { sql, type Kysely } from 'kysely'
import { refuse, type Commit } from './commit.ts'
import { createSkipDamaged, parseStored, type SkipDamaged } from './encoding/values.ts'
import { createSweeps, Removals } from './maintenance/create-sweeps.ts'
import { createFileSweep } from './maintenance/sweep-files.ts'
import { resolveOptions, type StoreOptions } from './options.ts'
import { openPostgres } from './postgres/open-postgres.ts'
import { findBase, findForks, findLeaf, forkSession, requireTurn } from './rows/session-branches.ts'
import { createSession, findSession, listSessions } from './rows/session-lists.ts'
import type { SessionEntry } from './runs/run-write.ts'
import { openSqlite } from './sqlite/open-sqlite.ts'
import { createFileStore } from './stores/file-store.ts'
import { createMemoryStore } from './stores/memory-store.ts'
import { createRunQueue } from './stores/run-queue.ts'
import { createRunStore } from './stores/run-store.ts'
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
    async cursorAfter(key) {
      const sessionKey = sessionKeyText(key)
      const session = await findSession(db, sessionKey)
      return session && formatSessionCursor({ at: session.updatedAt, key: sessionKey })
    },
    create: (key, fields = {}) =>
      commit.writeAmongOthers((trx) => createSession(trx, key, toChange(fields)).catch(refuse)),
    update: (key, given) =>
      commit.writeAmongOthers(async (trx) => {
        const sessionKey = sessionKeyText(key)
        const change = { updated_at: Date.now(), ...toChange(given) }
        const row = trx.updateTable('session').set(change).where('session_key', '=', sessionKey)
        await row.where('listed', '=', 1).execute()
        return findSession(trx, sessionKey)
      }),
    async settings(key) {
      const sessionKey = sessionKeyText(key)
      const rows = db.selectFrom('session').select('settings').where('session_key', '=', sessionKey)
      const json = (await rows.where('listed', '=', 1).executeTakeFirst())?.settings ?? undefined
      const settings = json === undefined ? undefined : parseStored<SessionSettings>(json)
      if (json !== undefined && settings === undefined) skipDamaged('session', sessionKey)
      return settings
    },
    fork: (key, sessionId, atTurn) =>
      commit.write(async (trx) => {
        const isForked = await forkSession(trx, key, sessionId, atTurn).catch(refuse)
        return isForked ? findSession(trx, sessionKeyText({ ...key, sessionId })) : undefined
      }),
    forks: (key) => findForks(db, sessionKeyText(key)),
    async sharedBefore(key) {
      const base = await findBase(db, sessionKeyText(key))
      return base && formatMessageCursor(base.first_seq)
    },
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
        .where('ordinal', '>', ordinalBound(after))
        .orderBy('ordinal')
        .limit(limit)
        .execute()
      return rows.map(({ ordinal, run_id: runId }) => ({ ordinal, runId }))
    },
    async runsBefore(key, before, limit) {
      const rows = await db
        .selectFrom('session_run')
        .select(['ordinal', 'run_id'])
        .where('session_key', '=', sessionKeyText(key))
        .where('ordinal', '<', ordinalBound(before))
        .orderBy('ordinal', 'desc')
        .limit(limit)
        .execute()
      return rows.map(({ ordinal, run_id: runId }) => ({ ordinal, runId }))
    },
    async ordinalOf(key, runId) {
      const rows = db.selectFrom('session_run').select(['session_key', 'ordinal']).where('run_id', '=', runId)
      const row = await rows.executeTakeFirst()
      return row?.session_key === sessionKeyText(key) ? row.ordinal : undefined
    }
  }
}

// Callers name bounds that no ordinal reaches, which a column of Postgres does not hold.
function ordinalBound(ordinal: number) {
  return sql<number>`cast(${ordinal} as bigint)`
}

function toChange({ title, metadata, settings }: SessionUpdate) {
  return {
    ...(title !== undefined && { title }),
    ...(metadata !== undefined && { metadata: metadata && JSON.stringify(metadata) }),
    ...(settings !== undefined && { settings: settings && JSON.stringify(settings) })
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
    runs: { ...createRunStore(db, backend.sources, commit, sweeps.runs, removals), ...backend.runs },
    sessions: {
      ...createSessionStore(
        db,
        commit,
        backend.writer,
        skipDamaged,
        sweeps.sessions,
        locks,
        backend.sessionEntry,
        node?.newestMessages
      ),
      ...node?.sessions
    },
    sessionIndex: createSessionIndex(db, commit, skipDamaged, backend.sessionEntry),
    memory: createMemoryStore({
      db,
      commit,
      codes: backend.codes,
      retention,
      skipDamaged,
      sweep: sweeps.memories
    }),
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
