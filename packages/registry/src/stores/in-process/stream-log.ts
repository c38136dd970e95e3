import {
  isTerminalStatus,
  RUN_ERR_FENCED,
  type CheckpointStore,
  type RunChange,
  type StoredRun,
  type StreamLog
} from '@svc/contract'
import { summarize } from './lists.ts'
import { recordStep, wake, type RunTable } from './run-table.ts'
import type { InProcessWebhooks } from './webhook-store.ts'

/**
 * The logs of runs, in process memory.
 * @param report gets each change of a run's record
 */
export function createInProcessStreamLog(runs: RunTable, report: InProcessWebhooks['report']): StreamLog {
  return {
    append(runId, epoch, entries, change, steps = []) {
      const run = runs.findLive(runId)
      if (run === undefined || run.record.epoch !== epoch) throw new RUN_ERR_FENCED(runId)
      for (const entry of entries) run.log.push(entry)
      for (const { key, output } of steps) recordStep(run, key, output)
      if (change !== undefined) {
        applyChange(run.record, change)
        if (change.preview !== undefined) run.preview = change.preview
        if (change.stats !== undefined) run.stats = change.stats
        // Summarized now, since a list may have to show thousands at once.
        if (change.input !== undefined) summarize(run, change.input)
        report(run.record, change)
        if (isTerminalStatus(change.status)) runs.end(run)
      }
      wake(run)
    },
    read: (runId, after, limit) => runs.find(runId)?.log.read(after, limit) ?? [],
    abandon(runId) {
      const run = runs.find(runId)
      if (run !== undefined) wake(run, true)
    },
    follow(runId, follower) {
      const run = runs.find(runId)
      if (run === undefined) {
        follower(true)
        return () => {}
      }
      const followers = (run.followers ??= new Set())
      followers.add(follower)
      return () => {
        followers.delete(follower)
        if (followers.size === 0 && run.followers === followers) run.followers = undefined
      }
    }
  }
}

function applyChange(record: StoredRun, change: RunChange): void {
  record.status = change.status
  record.updatedAt = change.at
  if (change.result !== undefined) record.result = change.result
  if (change.error !== undefined) record.error = change.error
  if (change.input !== undefined) record.inputs = [...record.inputs, change.input]
}

/** Checkpoints in process memory. */
export function createInProcessCheckpointStore(): CheckpointStore {
  const checkpoints = new Map<string, { epoch: number; json: string }>()
  return {
    save(runId, epoch, state) {
      if ((checkpoints.get(runId)?.epoch ?? 0) > epoch) throw new RUN_ERR_FENCED(runId)
      checkpoints.set(runId, { epoch, json: JSON.stringify(state) })
    },
    size(runId) {
      const found = checkpoints.get(runId)
      return found && Buffer.byteLength(found.json)
    },
    load(runId) {
      const found = checkpoints.get(runId)
      return found && { epoch: found.epoch, state: JSON.parse(found.json) as unknown }
    },
    remove: (runId) => void checkpoints.delete(runId)
  }
}
