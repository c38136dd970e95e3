import type { MemoryItemRetention } from '../../contract/ports/memory-store.ts'
import type { Stores } from '../../contract/ports/stores.ts'
import { createMemoryCheckpointStore } from './checkpoint-store.ts'
import { createMemoryControlBus } from './control-bus.ts'
import { createMemoryMemoryStore } from './memory-store.ts'
import { DEFAULT_RETENTION, MemoryRuns, type MemoryRetention } from './memory-runs.ts'
import { createMemoryRunStore } from './run-store.ts'
import { createMemorySessionStore } from './session-store.ts'
import { createMemoryStreamLog } from './stream-log.ts'
import { createMemoryTaskStore } from './task-store.ts'

/** Every store in memory: bounded, gone with the process. */
export function createMemoryStores(retention: Partial<MemoryRetention & MemoryItemRetention> = {}): Stores {
  const kept = { ...DEFAULT_RETENTION, ...retention }
  const runs = new MemoryRuns(kept, (runId) => void tasks.remove(runId))
  const tasks = createMemoryTaskStore({
    maxTasks: kept.maxRuns,
    isLive: (taskId) => runs.findLive(taskId) !== undefined
  })
  return {
    runs: createMemoryRunStore(runs),
    log: createMemoryStreamLog(runs),
    sessions: createMemorySessionStore(),
    memory: createMemoryMemoryStore(retention),
    tasks,
    checkpoints: createMemoryCheckpointStore(),
    control: createMemoryControlBus()
  }
}
