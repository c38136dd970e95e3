import { randomUUID } from 'node:crypto'
import type {
  LogEntry,
  NodeLease,
  RunResult,
  RunStore,
  StoredRun,
  StoredTask,
  Stores,
  StreamLog
} from '@svc/contract'
import { entryFromJson } from '@svc/contract/stores'
import type { ContractTest } from './contract-test.ts'

/** A run store and its stream log, and the lease of their process if several can share them. */
export interface RunStores {
  runs: RunStore
  log: StreamLog
  lease?: NodeLease
}

/** Adds one test of a contract, with fresh stores. */
export type TestStores = (name: string, run: (t: ContractTest, store: RunStores) => Promise<void>) => void

/** Creates the record of a new run. */
export function storedRun(fields: Partial<StoredRun> = {}): StoredRun {
  return {
    runId: randomUUID(),
    registry: 'global',
    kind: 'agent',
    name: 'echo',
    sessionId: 'session',
    owner: 'ada',
    startKey: null,
    metadata: null,
    createdAt: 1_000,
    queuedAt: null,
    updatedAt: 1_000,
    status: 'submitted',
    epoch: 1,
    result: null,
    error: null,
    cancelRequested: false,
    leftTurn: null,
    inputs: [],
    ...fields
  }
}

/** Creates the task of a new run. */
export function storedTask(taskId: string, fields: Partial<StoredTask> = {}): StoredTask {
  return {
    taskId,
    contextId: 'c',
    registry: 'global',
    owner: 'ada',
    agentName: 'echo',
    createdAt: 1,
    messages: [{ text: `first of ${taskId}` }],
    ...fields
  }
}

/** A text part of a log. */
export function textEntry(seq: number, text = `part ${seq}`): LogEntry {
  return entryFromJson(seq, JSON.stringify({ seq, type: 'text', at: 2_000, text }))
}

/** The change that completes a run. */
export const completed = {
  status: 'completed',
  at: 3_000,
  result: resultOf('done'),
  preview: 'done',
  stats: { usage: { promptTokens: 1, completionTokens: 2, totalTokens: 3 }, firstTokenMs: 40 }
} as const

function resultOf(text: string): RunResult {
  const usage = { promptTokens: 1, completionTokens: 2, totalTokens: 3 }
  return {
    text,
    toolCalls: [],
    usage,
    structured: null,
    durationMs: 1,
    runId: 'r',
    sessionId: 's',
    finishReason: 'stop'
  }
}

/** Stores that a test can make fail. */
export interface FailingStores {
  readonly stores: Stores
  /** Makes every call of the stores throw this. */
  fail(err: Error): void
  /** The stores work again. */
  work(): void
}

/** Wraps stores, so that a test can make them fail. Subscriptions still work. */
export function createFailingStores(stores: Stores): FailingStores {
  let fault: Error | undefined
  const wrap = <T extends object>(store: T): T =>
    new Proxy({} as T, {
      get(_, name) {
        const value: unknown = Reflect.get(store, name)
        if (typeof value !== 'function' || SUBSCRIPTIONS.has(name)) return value
        return (...args: unknown[]) => {
          if (fault !== undefined) throw fault
          return Reflect.apply(value, store, args) as unknown
        }
      }
    })
  const wrapped = Object.entries(stores).map(([name, store]) => [name, wrap(store as object)])
  return {
    stores: Object.fromEntries(wrapped) as Stores,
    fail(err) {
      fault = err
    },
    work() {
      fault = undefined
    }
  }
}

const SUBSCRIPTIONS = new Set<string | symbol>(['subscribe', 'follow', 'onAdded', 'onRemove'])
