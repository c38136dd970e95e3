export { default, type RegistryPluginOptions } from './plugin.ts'
export { bringEngine } from './app/ensure-engine.ts'
export { requireEngine, requireNoEngine } from './app/engine-order.ts'
export { requireFreePlace, rootOf } from './app/app-scope.ts'
export { whileServing } from './app/while-serving.ts'
export { warnOfTimeouts, requireNode } from './app/start-checks.ts'
export { createRegistry, globalRegistry, type Registry, type RegistryChange } from './registry.ts'
export { defineRunnable } from './runnables/define-runnable.ts'
export type { Exposed } from './access/exposed.ts'
export {
  EXPOSED_OPTIONS,
  listNamed,
  namedRunnablesSchema,
  type ExposedOptions
} from './access/exposed-options.ts'
export { Exposures, type ExposedRunnable } from './access/exposures.ts'
export type { SurfaceOptions, SurfaceStartOptions } from './access/surface-options.ts'
export * from './access/admit-run.ts'
export { identify, type CredentialErrors } from './access/identify.ts'
export { logFault, type LoggedFault } from './access/log-fault.ts'
export { DEFAULT_PROVIDER_KEY_HEADERS, ProviderKeys } from './access/provider-keys.ts'
export { isPublicHost, createPublicLookup } from './access/public-hosts.ts'
export { createRedact } from './access/redact-value.ts'
export { readCredentials, type TokenPlace, isForeignOrigin } from './access/read-credentials.ts'
export { mayAnswer, requireApproval, seesAllApprovals } from './access/require-approval.ts'
export {
  POLICY_OPTIONS,
  resolveAuthorize,
  resolvePolicy,
  type AppPolicy,
  type Policy,
  type PolicyOptions,
  type SurfacePolicy
} from './access/policy.ts'
export { requireRun, type RunAccess } from './access/require-run.ts'
export { toChallenge, type ChallengeCodes } from './access/to-challenge.ts'
export { collectStream, leaveStream } from './runnables/collect-stream.ts'
export { NameFinder } from './runnables/name-finder.ts'
export { namedEntries, toRunnables, type NamedRunnables } from './runnables/named-runnables.ts'
export { requireOptions, type RegistryOptions, type RunEngineOptions } from './options.ts'
export { MAX_TIMER, millisecondsSchema } from './timers.ts'

export * from './contract/content-part.ts'
export {
  codeOf,
  createError,
  isTellable,
  type ErrorClass,
  type TellableError
} from './contract/create-error.ts'
export { findJsonFault } from './contract/json-fault.ts'
export * from './contract/names.ts'
export * from './contract/part.ts'
export * from './contract/principal.ts'
export { ProviderKey, type Redact, type TextInIncrements } from './contract/provider-key.ts'
export * from './contract/run-body.ts'
export * from './contract/run-context.ts'
export * from './contract/run-record.ts'
export * from './contract/run-result.ts'
export * from './contract/runnable.ts'
export * from './contract/scopes.ts'
export { tellable, type TellableFault } from './contract/tellable.ts'
export * from './errors.ts'

export { createEventBus } from './events/create-event-bus.ts'
export { channelName, emitEvent, type EventFields, type EventOrigin } from './events/emit-event.ts'
export { eventSchema, RUN_EVENT_SCHEMAS, type RunEventMap } from './contract/run-events.ts'
export { hasReport, RunReport } from './events/run-report.ts'
export { createContext, defaultEvents, type ContextOptions } from './runs/create-context.ts'
export { createRunEngine } from './runs/create-run-engine.ts'
export type { Run, RunEngine } from './runs/run-engine.ts'
export { typeOfEntry } from './runs/log/flat-entry.ts'
export { loadResult } from './runs/load-result.ts'
export { LogReader, readEntries, type LogHost, isEnd } from './runs/log/log-reader.ts'
export { errorFromPart, errorFromStored, toPartError, toStoredError } from './runs/run-error.ts'
export { requireAnswer } from './runs/approvals/require-answer.ts'
export { requireInput } from './runs/require-input.ts'
export { toLoggable } from './logging/to-loggable.ts'
export { toPendingApproval, toRunRecord } from './runs/to-run-record.ts'

export { isPromise, type Awaitable } from './contract/ports/awaitable.ts'
export { PassingMap } from './stores/passing-map.ts'
export type { CheckpointStore } from './contract/ports/checkpoint-store.ts'
export type { ControlBus, ControlMessage } from './contract/ports/control-bus.ts'
export type {
  MemoryItem,
  MemoryItemRetention,
  MemoryStore,
  ScoredMemoryItem
} from './contract/ports/memory-store.ts'
export {
  createScopeFilter,
  runnableKeyText,
  type RegistryScope,
  type RunScope
} from './contract/ports/run-scope.ts'
export { KeyedLock, type Release } from './stores/keyed-lock.ts'
export { formatPushCursor, parsePushCursor } from './stores/push-cursor.ts'
export {
  formatApprovalCursor,
  formatRunCursor,
  parseApprovalCursor,
  parseRunCursor,
  runIdOf,
  type ApprovalPosition,
  type RunPosition
} from './stores/run-cursor.ts'
export { MAX_LISTED_APPROVALS, MAX_LISTED_ARGS, previewOfJson } from './stores/summarize-run.ts'
export { weighWord, wordsOf } from './stores/words.ts'
export { createInProcessControlBus } from './stores/in-process/control-bus.ts'
export * from './contract/ports/run-store.ts'
export * from './contract/ports/session-store.ts'
export * from './contract/ports/stream-log.ts'
export * from './contract/ports/task-store.ts'
export type { Stores } from './contract/ports/stores.ts'
export { createInProcessStores } from './stores/in-process/in-process-stores.ts'

export { createPause, nextTurn } from './next-turn.ts'
export { randomId } from './random-id.ts'
export { decodeJson, type FaultClass, quoteName } from './wire/decode-json.ts'
export {
  beginningOf,
  encodePieces,
  estimateLength,
  isShort,
  type JsonPieces,
  createJsonStream
} from './wire/encode-pieces.ts'
export { SILENT_LOG, type RunLog } from './contract/run-log.ts'
export type { ApprovalOutcome, ApprovalRequest, Approvals } from './contract/approval.ts'
export { entryFromJson, sizeOfEntry } from './stores/log-entry.ts'
export type { EventBus, EventListener, EventMap, EventName } from './contract/event-bus.ts'
export type { StartOptions } from './runs/start-options.ts'
