import { RUN_ERR_FENCED, type CheckpointStore } from '@svc/contract'

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
