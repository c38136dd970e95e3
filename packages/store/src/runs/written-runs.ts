import {
  isPromise,
  RUN_ERR_FENCED,
  RUN_ERR_TOO_MANY_RUNS,
  type Awaitable,
  type CheckpointStore,
  type RunStore,
  type RunSummary,
  type StoredRun,
  type StreamLog
} from '@svc/contract'
import type { Kysely } from 'kysely'
import { findByStartKey, findRun } from '../rows/run-lists.ts'
import { toRunRow } from '../rows/run-rows.ts'
import type { Tables } from '../tables.ts'
import type { LocalLogs } from './local-logs.ts'
import type { RunWriter } from './run-write.ts'

/** What new runs need. */
export interface WrittenRunsHost {
  readonly db: Kysely<Tables>
  readonly writer: RunWriter
  readonly log: StreamLog
  readonly logs: LocalLogs
  /** The node that has new runs; null without nodes. @throws why it is no node of the database now */
  nodeId(): Awaitable<string | null>
}

// A run with the same start key may be removed between two attempts.
const ATTEMPTS = 3

/** The part of a run store that runs write through. */
export function createWrittenRuns(host: WrittenRunsHost): Pick<RunStore, 'create' | 'recordStep'> {
  const { log, logs } = host
  return {
    async create(run, maxPerOwner) {
      const named = host.nodeId()
      const nodeId = isPromise(named) ? await named : named
      // Its readers may follow it before the write is acknowledged.
      logs.own(run.runId, true)
      try {
        const earlier = await createRun(host, run, nodeId, maxPerOwner)
        if (earlier !== undefined) logs.disown(run.runId)
        return earlier
      } catch (err) {
        logs.disown(run.runId)
        throw err
      }
    },
    // With no part: the log counts what its run has written.
    recordStep: (runId, epoch, key, output) => log.append(runId, epoch, [], undefined, [{ key, output }])
  }
}

/** The part of a checkpoint store that runs write through. */
export function createWrittenCheckpoints(writer: RunWriter): Pick<CheckpointStore, 'save' | 'remove'> {
  return {
    async save(runId, epoch, state) {
      const write = { kind: 'save', runId, epoch, state: JSON.stringify(state) } as const
      if (!(await writer.write(write))) throw new RUN_ERR_FENCED(runId)
    },
    async remove(runId) {
      await writer.write({ kind: 'forget', runId })
    }
  }
}

async function createRun(
  { db, writer }: WrittenRunsHost,
  run: StoredRun,
  nodeId: string | null,
  most: number | undefined
): Promise<RunSummary | undefined> {
  const { runId, startKey } = run
  for (let attempt = 1; ; attempt++) {
    if (await writer.write({ kind: 'create', runId, row: toRunRow(run), nodeId, most })) return undefined
    const earlier = await findByStartKey(db, run)
    if (earlier !== undefined) return earlier
    if ((await findRun(db, runId)) !== undefined) throw new Error(`the id of run ${runId} is taken`)
    if (most !== undefined && startKey === null) throw new RUN_ERR_TOO_MANY_RUNS()
    if (attempt === ATTEMPTS)
      throw most === undefined ? new Error(`run ${runId} cannot be created`) : new RUN_ERR_TOO_MANY_RUNS()
  }
}
