import { createHash } from 'node:crypto'
import {
  defined,
  randomId,
  type BrowserState,
  type BrowserStateStore,
  type ControlBus,
  type ControlMessage,
  type Counted,
  type CounterStore,
  type CounterWindow,
  type FileStore,
  type MemoryItemRetention,
  type NewFile,
  type RemoteSession,
  type RemoteSessionStore,
  type StoredFile,
  type Stores
} from '@svc/contract'
import { RUN_ERR_FILE_LIMIT } from '@svc/contract/errors'
import { SessionLocks } from '@svc/contract/stores'
import { RecentMap } from './aging-map.ts'
import { BySession, type FenceCheck } from './by-session.ts'
import { createInProcessMemoryStore } from './memory-store.ts'
import {
  createInProcessCheckpointStore,
  createInProcessRunQueue,
  createInProcessRunStore,
  createInProcessStreamLog
} from './run-store.ts'
import { RunTable, type RunRetention } from './run-table.ts'
import { createInProcessScheduleStore } from './schedule-store.ts'
import { createInProcessSessionIndex, createInProcessSessionStore } from './session-index.ts'
import { SessionTable } from './session-table.ts'
import { createInProcessTaskStore, type TaskRetention } from './task-store.ts'
import { createInProcessWebhooks } from './webhook-store.ts'

/** Control messages within one process. */
export function createInProcessControlBus(): ControlBus {
  const listeners = new Set<(message: ControlMessage) => void>()
  return {
    publish(message) {
      for (const listener of Array.from(listeners)) listener(message)
    },
    subscribe(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    }
  }
}

// Counts at least this many recent keys, and at most twice as many.
const MAX_KEYS = 10_000

/** The longest window, in milliseconds. */
export const MAX_COUNTER_WINDOW = 1_000_000_000_000

/** Counts within one process. */
export function createInProcessCounterStore(): CounterStore {
  const windows = new RecentMap<{ count: number; endsAt: number }>(MAX_KEYS)
  return {
    increment(key: string, window: CounterWindow): Counted {
      const now = performance.now()
      const before = windows.get(key)
      const current =
        before !== undefined && before.endsAt > now ? before : { count: 0, endsAt: now + window.length }
      if (current !== before) windows.set(key, current)
      current.count++
      if (current.count > 1)
        current.endsAt = Math.max(current.endsAt, now + extensionOf(current.count, window))
      return { count: current.count, left: Math.ceil(current.endsAt - now) }
    }
  }
}

// Milliseconds from now.
function extensionOf(
  count: number,
  { length, max = Infinity, extension = 'restart' }: CounterWindow
): number {
  if (count <= max) return 0
  return extension === 'restart' ? length : Math.min(length * 2 ** (count - max - 1), MAX_COUNTER_WINDOW)
}

/** The limits of a file store in process memory. */
export interface FileLimits {
  /** Bytes of all files. */
  readonly maxBytes: number
  /** True for a run in progress, whose files stay; default: none is. */
  readonly isLive?: (runId: string) => boolean
}

interface RunFiles {
  readonly files: Map<string, { file: StoredFile; bytes: Buffer }>
  size: number
}

/** Files in process memory. If a new one does not fit, those of ended runs go, the oldest run first. */
function createInProcessFileStore(
  { maxBytes, isLive = () => false }: FileLimits,
  table: Pick<RunTable, 'requireEpoch'>
): FileStore {
  const runs = new Map<string, RunFiles>()
  let size = 0
  // Of the streams that are being read.
  let arriving = 0

  const drop = (runId: string) => {
    size -= runs.get(runId)?.size ?? 0
    runs.delete(runId)
  }
  const makeRoom = (runId: string, bytes: number) => {
    const removable: string[] = []
    let left = size + bytes - maxBytes
    for (const [other, run] of runs) {
      if (left <= 0) break
      if (other === runId || isLive(other)) continue
      removable.push(other)
      left -= run.size
    }
    // No file goes for one that does not fit anyway.
    if (left > 0) throw new RUN_ERR_FILE_LIMIT(maxBytes)
    for (const other of removable) drop(other)
  }
  const add = (runId: string, { mimeType, filename }: NewFile, bytes: Buffer): StoredFile => {
    makeRoom(runId, bytes.length)
    const file: StoredFile = {
      fileId: randomId(),
      mimeType,
      ...(filename !== undefined && { filename }),
      size: bytes.length,
      sha256: createHash('sha256').update(bytes).digest('hex'),
      createdAt: Date.now()
    }
    let run = runs.get(runId)
    if (run === undefined) runs.set(runId, (run = { files: new Map(), size: 0 }))
    run.files.set(file.fileId, { file, bytes })
    run.size += bytes.length
    size += bytes.length
    return file
  }

  const collect = async (content: AsyncIterable<Uint8Array>) => {
    const chunks: Uint8Array[] = []
    let collected = 0
    try {
      for await (const chunk of content) {
        collected += chunk.length
        arriving += chunk.length
        if (arriving > maxBytes) throw new RUN_ERR_FILE_LIMIT(maxBytes)
        // The source may reuse its buffer.
        chunks.push(Uint8Array.from(chunk))
      }
      return Buffer.concat(chunks, collected)
    } finally {
      arriving -= collected
    }
  }

  return {
    put(runId, file, fence) {
      const { content } = file
      const keep = (bytes: Buffer) => {
        table.requireEpoch(fence)
        return add(runId, file, bytes)
      }
      return content instanceof Uint8Array ? keep(Buffer.from(content)) : collect(content).then(keep)
    },
    get(runId, fileId, { start, end } = { start: 0 }) {
      const found = runs.get(runId)?.files.get(fileId)
      if (found === undefined) return undefined
      const bytes = found.bytes.subarray(start, end)
      return {
        file: found.file,
        content: (async function* () {
          if (bytes.length > 0) yield bytes
        })()
      }
    },
    remove(runIds) {
      for (const runId of runIds) drop(runId)
    }
  }
}

const MAX_SESSIONS = 1_000

/**
 * Keeps what browsers know in the sessions that were used last, in process memory.
 * @param runs needed for writes with a fence
 * @param maxSessions keeps at least this many, and at most twice as many
 */
export function createInProcessBrowserStateStore(
  runs?: FenceCheck,
  maxSessions: number = MAX_SESSIONS
): BrowserStateStore {
  const sessions = new BySession<BrowserState>(runs, maxSessions)
  return {
    load: (key) => sessions.get(key),
    save: (key, state, fence) => sessions.change(key, fence, () => state),
    remove: (key) => sessions.delete(key),
    keys: (query) => sessions.keys(query)
  }
}

/** Conversations of other services in process memory. @param runs needed for writes with a fence */
export function createInProcessRemoteSessionStore(runs?: FenceCheck): RemoteSessionStore {
  const sessions = new BySession<Map<string, RemoteSession>>(runs)
  return {
    load: (key, remote) => sessions.get(key)?.get(remote),
    save: (key, remote, session, fence) =>
      sessions.change(key, fence, (kept = new Map()) => kept.set(remote, { ...session })),
    remove(key, remote) {
      const kept = sessions.get(key)
      if (remote !== undefined) kept?.delete(remote)
      if (remote === undefined || kept?.size === 0) sessions.delete(key)
    },
    keys: (query) => sessions.keys(query)
  }
}

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
  const webhooks = createInProcessWebhooks(kept, isLive)
  return {
    runs: createInProcessRunStore(runs),
    log: locks.watch(createInProcessStreamLog(runs, webhooks)),
    sessions: createInProcessSessionStore(runs, locks, sessions),
    sessionIndex: createInProcessSessionIndex(runs, sessions),
    memory: createInProcessMemoryStore(kept, runs),
    tasks,
    checkpoints,
    queue,
    schedules: createInProcessScheduleStore(queue, kept),
    webhooks: webhooks.webhooks,
    control: createInProcessControlBus(),
    remoteSessions: createInProcessRemoteSessionStore(runs),
    files: createInProcessFileStore({ maxBytes: kept.fileMaxBytes, isLive }, runs)
  }
}
