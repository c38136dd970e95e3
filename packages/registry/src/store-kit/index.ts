export { createScopeFilter, runnableKeyText } from '../contract/ports/run-scope.ts'
export { hasMetadata } from '../contract/run-metadata.ts'
export { parseSessionKey, sessionKeyText } from '../contract/ports/session-store.ts'
export { createInProcessControlBus } from '../stores/in-process/control-bus.ts'
export { createInProcessCounterStore, MAX_COUNTER_WINDOW } from '../stores/in-process/counter-store.ts'
export {
  createInProcessBrowserStateStore,
  createInProcessRemoteSessionStore
} from '../stores/in-process/session-states.ts'
export { QueueWorkers } from '../stores/queue-workers.ts'
export { KeyedLock, type Release } from '../stores/keyed-lock.ts'
export {
  formatMessageCursor,
  formatSessionCursor,
  parseMessageCursor,
  parseSessionCursor,
  type SessionPosition
} from '../stores/session-cursor.ts'
export { SessionFollowers } from '../stores/session-followers.ts'
export { SessionLocks } from '../stores/session-locks.ts'
export { entryFromJson, sizeOfEntry } from '../stores/log-entry.ts'
export {
  formatInputCursor,
  formatRunCursor,
  formatSeqCursor,
  pageOf,
  parseInputCursor,
  parseRunCursor,
  parseSeqCursor,
  runIdOf,
  type InputPosition,
  type RunPosition
} from '../stores/run-cursor.ts'
export { isOwnTurn, runIdOfTurn, titleOf } from '../stores/session-title.ts'
export {
  MAX_LISTED_INPUTS,
  MAX_LISTED_ARGS,
  NOTHING_PENDING,
  previewOfJson
} from '../stores/summarize-run.ts'
export { hostOf } from '../webhooks/check-webhook.ts'
export { reportedChange } from '../webhooks/webhook-event.ts'
export { weighWord, wordsOf } from '../stores/words.ts'
