import {
  RUN_FORMAT,
  isTerminalStatus,
  toStoredError,
  type LeftTurn,
  type RunFence,
  type RunMetadata,
  type RunResult,
  type RunStatus,
  type SteeringMessage,
  type StoredError,
  type StoredRun,
  type StoredSteer
} from '@svc/contract'
import { RUN_ERR_DAMAGED, RUN_ERR_FENCED } from '@svc/contract/errors'
import { sql, type Insertable, type Kysely, type Selectable } from 'kysely'
import { Refused } from '../commit.ts'
import { parseLarge, parseStored, RESULT } from '../encoding/values.ts'
import type { Tables } from '../tables.ts'
import { readInputs } from './input-rows.ts'

/** States that never change. */
export const TERMINAL: RunStatus[] = ['completed', 'failed', 'canceled']

/** Selects runs that this release can continue. */
export const isKnownFormat = sql<boolean>`coalesce(format, 1) <= ${sql.lit(RUN_FORMAT)}`

/** All other states. */
export const UNFINISHED: RunStatus[] = ['submitted', 'working', 'input-required']

/** Characters of a result that is stored in the row of its run; a longer one is stored in pieces. */
export const MAX_IN_ROW = 16_384

/** Bytes of a part besides its JSON: its keys, twice, and its slot in a page. */
export const PART_BYTES = 100

/** The row of a new run. */
export function toRunRow(run: StoredRun): Insertable<Tables['run']> {
  return {
    run_id: run.runId,
    registry: run.registry,
    kind: run.kind,
    name: run.name,
    session_id: run.sessionId,
    owner: run.owner,
    user_id: run.userId ?? null,
    start_key: run.startKey?.key ?? null,
    start_hash: run.startKey?.hash ?? null,
    metadata: run.metadata && JSON.stringify(run.metadata),
    created_at: run.createdAt,
    updated_at: run.updatedAt,
    status: run.status,
    epoch: run.epoch,
    format: run.format,
    result: run.result && JSON.stringify(run.result),
    error: run.error && JSON.stringify(run.error),
    bytes: 0,
    ended_at: endOf(run.status, run.updatedAt),
    preview: null,
    stats: null,
    file_bytes: 0,
    queued_at: run.queuedAt,
    cancel_at: null
  }
}

function endOf(status: RunStatus, at: number): number | null {
  return isTerminalStatus(status) ? at : null
}

/** Reads runs from their rows, with results and inputs. */
export async function toRuns(
  db: Kysely<Tables>,
  rows: readonly Selectable<Tables['run']>[]
): Promise<StoredRun[]> {
  const runs: StoredRun[] = []
  for (const row of rows) {
    const head = toRunHead(row)
    const result = row.result === null ? await readLongResult(db, row) : parseStored<RunResult>(row.result)
    const inputs = await readInputs(db, row.run_id)
    runs.push(
      result === undefined
        ? { ...head, status: 'failed', error: damaged(), result: null, inputs }
        : { ...head, result, inputs }
    )
  }
  return runs
}

// Undefined if it is damaged.
function readLongResult(db: Kysely<Tables>, { run_id, status }: Pick<Tables['run'], 'run_id' | 'status'>) {
  return status === 'completed' || status === 'canceled' ? parseLarge<RunResult>(db, run_id, RESULT) : null
}

const damaged = () => toStoredError(new RUN_ERR_DAMAGED('how it ended'))

/** Parses the metadata of a row; null if it is damaged. */
export function parseMetadata(metadata: string | null): RunMetadata | null {
  return metadata === null ? null : (parseStored<RunMetadata>(metadata) ?? null)
}

/** The fields of a run that are in its row, without the result. */
export function toRunHead(
  row: Omit<Selectable<Tables['run']>, 'result' | 'ended_at' | 'file_bytes' | 'node_id'>
): Omit<StoredRun, 'result' | 'inputs'> {
  const error = row.error === null ? null : parseStored<StoredError>(row.error)
  return {
    runId: row.run_id,
    registry: row.registry,
    kind: row.kind,
    name: row.name,
    sessionId: row.session_id,
    owner: row.owner,
    ...(row.user_id !== null && { userId: row.user_id }),
    startKey: row.start_key === null ? null : { key: row.start_key, hash: row.start_hash ?? '' },
    metadata: parseMetadata(row.metadata),
    createdAt: row.created_at,
    queuedAt: row.queued_at,
    updatedAt: row.updated_at,
    status: error === undefined ? 'failed' : row.status,
    epoch: row.epoch,
    format: row.format ?? 1,
    error: error === undefined ? damaged() : error,
    cancelRequested: row.cancel_at !== null,
    leftTurn: row.left_turn === null ? null : (parseStored<LeftTurn>(row.left_turn) ?? null)
  }
}

// No foreign keys on Postgres: they would double the cost of each append.
const RUN_TABLES = ['run_step', 'run_steer', 'run_value', 'run_input', 'checkpoint', 'run'] as const

/**
 * Removes runs with all that belongs to them, except for the bytes of their files.
 * @param withLogs those whose logs go too; default all
 */
export async function removeRuns(
  db: Kysely<Tables>,
  runIds: readonly string[],
  withLogs = runIds
): Promise<void> {
  if (withLogs.length > 0) await db.deleteFrom('run_part').where('run_id', 'in', withLogs).execute()
  for (const table of RUN_TABLES) await db.deleteFrom(table).where('run_id', 'in', runIds).execute()
  await db.deleteFrom('task').where('task_id', 'in', runIds).execute()
}

/**
 * Does nothing without a fence.
 * @param isShared locks the run: another process could lease it before what follows is committed
 * @throws RUN_ERR_FENCED as `RunFence` says
 */
export async function requireEpoch(
  db: Kysely<Tables>,
  fence: RunFence | undefined,
  isShared: boolean
): Promise<void> {
  if (fence === undefined) return
  const { runId, epoch } = fence
  const run = db.selectFrom('run').select('run_id').where('run_id', '=', runId).where('epoch', '=', epoch)
  const found = isShared ? run.forShare() : run
  if ((await found.executeTakeFirst()) === undefined) throw new Refused(new RUN_ERR_FENCED(runId))
}

/** As `RunStore.offerSteer`, in a transaction. */
export async function offerSteer(trx: Kysely<Tables>, steer: StoredSteer): Promise<StoredSteer | undefined> {
  const earlier = await findSteer(trx, steer.steerId)
  if (earlier !== undefined) return earlier
  const run = trx.selectFrom('run').select('run_id').where('run_id', '=', steer.runId)
  if ((await run.where('status', 'not in', TERMINAL).executeTakeFirst()) === undefined) return undefined
  const { steerId, runId, hash, message } = steer
  const row = { steer_id: steerId, run_id: runId, hash, message: JSON.stringify(message) }
  await trx.insertInto('run_steer').values(row).execute()
  return steer
}

/** As `RunStore.findSteer`. @throws RUN_ERR_DAMAGED */
export async function findSteer(db: Kysely<Tables>, steerId: string): Promise<StoredSteer | undefined> {
  const row = await db.selectFrom('run_steer').selectAll().where('steer_id', '=', steerId).executeTakeFirst()
  return row && toSteer(row)
}

function toSteer(row: Selectable<Tables['run_steer']>): StoredSteer {
  const message = parseStored<SteeringMessage>(row.message)
  if (message === undefined) throw new RUN_ERR_DAMAGED('a message that was to join it')
  return { steerId: row.steer_id, runId: row.run_id, hash: row.hash, message }
}
