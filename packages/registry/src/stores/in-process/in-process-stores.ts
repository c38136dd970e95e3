import { defined, type MemoryItemRetention, type Stores } from '@svc/contract'
import { SessionLocks } from '@svc/contract/stores'
import { createInProcessCheckpointStore, createInProcessStreamLog } from './stream-log.ts'
import { createInProcessControlBus } from './nodes.ts'
import { createInProcessFileStore } from './file-store.ts'
import { createInProcessMemoryStore } from './memory-store.ts'
import { createInProcessRemoteSessionStore } from './session-states.ts'
import { createInProcessRunQueue, createInProcessRunStore } from './run-store.ts'
import { RunTable, type RunRetention } from './run-table.ts'
import { createInProcessScheduleStore } from './schedule-store.ts'
import { createInProcessSessionIndex, createInProcessSessionStore } from './session-index.ts'
import { SessionTable } from './session-table.ts'
import { createInProcessWebhooks } from './webhook-store.ts'
import { createInProcessTaskStore, type TaskRetention } from './task-store.ts'

/** How much the stores keep; see the option `retention`. */
export interface InProcessRetention
  extends RunRetention, MemoryItemRetention, Pick<TaskRetention, 'taskMaxBytes'> {
  /** Bytes of all files. */
  fileMaxBytes: number
}

const DAY = 86_400_000
const DEFAULTS: InProcessRetention = {
  maxAge: 600_000,
  maxRuns: 10_000,
  maxBytes: 268_435_456,
  taskMaxBytes: 67_108_864,
  fileMaxBytes: 67_108_864,
  memoryMaxItems: 1_000,
  memoryMaxAge: 365 * DAY
}

/** Every store in process memory: bounded, and lost with the process. */
export function createInProcessStores(retention: Partial<InProcessRetention> = {}): Stores {
  const kept = { ...DEFAULTS, ...defined(retention) }
  const runs = new RunTable(kept)
  const isLive = (runId: string) => runs.findLive(runId) !== undefined
  const tasks = createInProcessTaskStore({
    maxTasks: kept.maxRuns,
    taskMaxBytes: kept.taskMaxBytes,
    isLive
  })
  runs.onRemove((runIds) => {
    for (const runId of runIds) void tasks.remove(runId)
  })
  const checkpoints = createInProcessCheckpointStore()
  const queue = createInProcessRunQueue(runs, checkpoints)
  const locks = new SessionLocks()
  const sessions = new SessionTable()
  const { webhooks, report } = createInProcessWebhooks(kept, isLive)
  return {
    runs: createInProcessRunStore(runs),
    log: locks.watch(createInProcessStreamLog(runs, report)),
    sessions: createInProcessSessionStore(runs, locks, sessions),
    sessionIndex: createInProcessSessionIndex(runs, sessions),
    memory: createInProcessMemoryStore(kept, runs),
    tasks,
    checkpoints,
    queue,
    schedules: createInProcessScheduleStore(queue, kept),
    webhooks,
    control: createInProcessControlBus(),
    remoteSessions: createInProcessRemoteSessionStore(runs),
    files: createInProcessFileStore({ maxBytes: kept.fileMaxBytes, isLive }, runs)
  }
}
