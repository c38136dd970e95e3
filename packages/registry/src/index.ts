export { default, type RegistryPluginOptions } from './plugin.ts'
export { createRegistry, globalRegistry, type Registry, type RegistryChange } from './registry.ts'
export { defineRunnable } from './runnables/define-runnable.ts'
export { collectStream } from './runnables/collect-stream.ts'
export { requireOptions } from './options.ts'

export * from './contract/content-part.ts'
export * from './contract/names.ts'
export * from './contract/part.ts'
export * from './contract/principal.ts'
export * from './contract/run-context.ts'
export * from './contract/run-record.ts'
export * from './contract/run-result.ts'
export * from './contract/runnable.ts'
export * from './contract/scopes.ts'
export * from './errors.ts'

export {
  createEventBus,
  type EventBus,
  type EventListener,
  type EventMap,
  type EventName
} from './events/event-bus.ts'
export { createContext, defaultEvents, SILENT_LOG, type ContextOptions } from './runs/create-context.ts'
export { createRunEngine, type RunEngineOptions } from './runs/create-run-engine.ts'
export type { Run, RunEngine, StartOptions } from './runs/run-engine.ts'
export { errorFromStored, toPartError, toStoredError } from './runs/run-error.ts'
export { requireInput } from './runs/require-input.ts'
export { toLoggable } from './runs/to-loggable.ts'
export { toPendingApprovals, toRunRecord } from './runs/to-run-record.ts'

export { isPromise, type Awaitable } from './stores/awaitable.ts'
export type { CheckpointStore } from './stores/checkpoint-store.ts'
export type { ControlBus, ControlMessage } from './stores/control-bus.ts'
export type { MemoryItem, MemoryStore, ScoredMemoryItem } from './stores/memory-store.ts'
export { KeyedLock, type Release } from './stores/keyed-lock.ts'
export { formatRunCursor, parseRunCursor, type RunPosition } from './stores/run-cursor.ts'
export { scoreWords, wordsOf } from './stores/words.ts'
export { createMemoryControlBus } from './stores/memory/control-bus.ts'
export * from './stores/run-store.ts'
export * from './stores/session-store.ts'
export * from './stores/stream-log.ts'
export * from './stores/task-store.ts'
export type { Stores } from './stores/stores.ts'
export { createMemoryStores } from './stores/memory/memory-stores.ts'
