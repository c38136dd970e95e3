import type { MemoryItemRetention } from '../memory-store.ts'
import type { Stores } from '../stores.ts'
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
  const tasks = createMemoryTaskStore()
  const runs = new MemoryRuns({ ...DEFAULT_RETENTION, ...retention }, (runId) => void tasks.remove(runId))
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
