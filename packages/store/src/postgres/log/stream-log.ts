import {
  isTerminalStatus,
  RUN_ERR_FENCED,
  type LogEntry,
  type RunChange,
  type StepRecord,
  type StreamLog
} from '@svc/registry'
import { isPromise } from '@svc/registry/kit'
import { PART_BYTES } from '../../rows/run-rows.ts'
import { bytesOfSteps, toStepRow } from '../../rows/step-rows.ts'
import { toChangedRows } from '../lane/changed-rows.ts'
import type { Lane } from '../lane/lane.ts'
import type { BatchReads } from './batch-reads.ts'
import type { LocalLogs } from './local-logs.ts'
import type { WakeUps } from './wake-ups.ts'

/** What the logs of runs are made of. */
export interface StreamLogHost {
  readonly lane: Lane
  readonly logs: LocalLogs
  readonly reads: BatchReads
  readonly wakeUps: WakeUps
}

/** The logs of runs, which any node reads and one writes. */
export function createSharedStreamLog({ lane, logs, reads, wakeUps }: StreamLogHost): StreamLog {
  const append = async (
    runId: string,
    epoch: number,
    entries: readonly LogEntry[],
    change?: RunChange,
    steps: readonly StepRecord[] = []
  ) => {
    const rows = steps.map((step) => toStepRow(runId, step))
    const changing = change && toChangedRows(runId, change)
    const changed = isPromise(changing) ? await changing : changing
    const parts = entries.map(({ seq, json }) => ({ seq, json }))
    const own = bytesOf(parts) + bytesOfSteps(rows) + (changed?.bytes ?? 0)
    const local = logs.get(runId)
    const bytes = own + (local?.uncounted ?? 0)
    // Each append would otherwise make another version of the run's row.
    if (local !== undefined) local.uncounted = change === undefined ? bytes : 0
    const size = change === undefined ? own : bytes
    const write = {
      kind: 'append',
      runId,
      epoch,
      parts,
      steps: rows,
      change: changed?.rows,
      bytes: size
    } as const
    if (await lane.write(write)) return
    logs.disown(runId)
    throw new RUN_ERR_FENCED(runId)
  }

  return {
    abandon(runId) {
      logs.disown(runId)
      logs.wake(runId, true)
    },
    async append(runId, epoch, entries, change, steps) {
      await append(runId, epoch, entries, change, steps)
      if (entries.length === 0 && change === undefined) return
      logs.appended(runId, entries, change !== undefined && isTerminalStatus(change.status))
      wakeUps.notify(runId)
    },
    read(runId, after, limit) {
      const known = logs.read(runId, after, limit)
      if (known !== undefined) return known
      return reads.read(runId, after, limit).then((entries) => {
        logs.keep(runId, entries)
        return entries
      })
    },
    onFollowed: (runId, act) => (wakeUps.isFollowed(runId) ? undefined : logs.onFollowed(runId, act)),
    follow(runId, follower) {
      const unfollow = logs.follow(runId, follower)
      if (logs.get(runId)?.isOwn !== true) wakeUps.announce(runId)
      return unfollow
    }
  }
}

function bytesOf(parts: readonly { readonly json: string }[]): number {
  return parts.reduce((sum, { json }) => sum + Buffer.byteLength(json) + PART_BYTES, 0)
}
