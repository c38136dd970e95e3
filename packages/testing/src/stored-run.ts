import { randomUUID } from 'node:crypto'
import {
  RUN_FORMAT,
  type LogEntry,
  type NodeLease,
  type RunResult,
  type RunStore,
  type StoredRun,
  type StoredTask,
  type Stores,
  type StreamLog
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
    format: RUN_FORMAT,
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
  return {
    stores: interceptStores(stores, (_port, method) => {
      if (fault !== undefined && !SUBSCRIPTIONS.has(method)) throw fault
    }),
    fail(err) {
      fault = err
    },
    work() {
      fault = undefined
    }
  }
}

const SUBSCRIPTIONS: ReadonlySet<string> = new Set(['subscribe', 'follow', 'onAdded', 'onRemove'])

/** Wraps stores, so that a test sees each call of a port before it is made; it may throw instead. */
export function interceptStores(stores: Stores, before: (port: string, method: string) => void): Stores {
  const wrap = (port: string, store: object) =>
    new Proxy(
      {},
      {
        get(_, method) {
          const value: unknown = Reflect.get(store, method)
          if (typeof value !== 'function') return value
          return (...args: unknown[]) => {
            before(port, String(method))
            return Reflect.apply(value, store, args) as unknown
          }
        }
      }
    )
  const wrapped = Object.entries(stores).map(([port, store]) => [port, wrap(port, store as object)])
  return Object.fromEntries(wrapped) as Stores
}
