export { Exposed, Surfaces, WireSchema } from './access/surfaces.ts'
export {
  DEFAULT_HEARTBEAT,
  resolveSharedOptions,
  SHARED_OPTIONS,
  type SharedOptions,
  type SharedSettings
} from './access/shared-options.ts'
export { POLICY_OPTIONS, resolvePolicy, type Policy, type PolicyOptions } from './access/policy.ts'
export {
  findEntry,
  requireFreePlace,
  requireNode,
  resolveFrom,
  rootOf,
  splitRegisterOptions,
  warnOfTimeouts
} from './app/app-scope.ts'
export { requireEngine, requireNoEngine } from './app/engine-order.ts'
export { ensureEngine } from './app/ensure-engine.ts'
export { completeFinish } from './engine/log/part-writer.ts'
export { defaultEvents } from './engine/context.ts'
export { requireAnswer } from './engine/inputs/input-answers.ts'
export { isReplayed } from './engine/journal/part-record.ts'
export { loadResult } from './engine/replayed-run.ts'
export { takePart, typeOfEntry } from './engine/log/encode-part.ts'
export {
  isEnd,
  LogReader,
  readEntries,
  readPresent,
  type EntryReader,
  type LogHost,
  type RunNotice,
  type TransientPart
} from './engine/log/log-reader.ts'
export { sessionOwnerOf } from './turns/run-turn.ts'
export {
  badInput,
  hasCallerOptions,
  prepareStart,
  requireCaller,
  requireConversation,
  requireInput
} from './engine/prepare-start.ts'
export { toPendingApproval, toPendingInput, toRunRecord } from './engine/run-record.ts'
export { removeRun } from './erasure/remove-runs.ts'
export { emitEvent, type EventFields, type EventOrigin } from './events/event-bus.ts'
export { hasReport, RunReport } from './engine/settlement.ts'
export { keepFile, sha256Of, type MadeFile } from './files/keep-file.ts'
export {
  createPublicLookup,
  isPublicHost,
  readTarget,
  requirePublicTarget,
  safePost,
  UnsafeTargetError,
  type Lookup,
  type TargetRules
} from './outbound/safe-post.ts'
export { createRedact, redactLog } from './redaction/redact-value.ts'
export { leaveStream } from './engine/live-run.ts'
export { collectStream, ResultCollector } from './runnables/collect-stream.ts'
export { namedEntries, renameRunnable, toRunnables, withOrigin } from './runnables/define-runnable.ts'
export { upcomingInstants } from './schedules/schedule-plan.ts'
export { formatPosition, presentOf } from './sessions/session-tails.ts'
export { MAX_SETTINGS } from './sessions/sessions.ts'
export { partsOfTurn, readTurn, readTurns, type Turn } from './sessions/read-turns.ts'
export { toSession } from './sessions/sessions.ts'
export {
  createInProcessBrowserStateStore,
  createInProcessControlBus,
  createInProcessCounterStore,
  createInProcessRemoteSessionStore,
  MAX_COUNTER_WINDOW
} from './stores/in-process/in-process-stores.ts'
export { isReported } from './stores/upkeep/store-watch.ts'
export { steerOf } from './turns/steering.ts'
export { hostOf, reportedChange } from './webhooks/send-message.ts'
