export { KeyedLock, type Release } from './keyed-lock.ts'
export { entryFromJson, membersOf, sizeOfEntry, TextEntry } from './log-entry.ts'
export { PassingMap, type Slot } from './passing-map.ts'
export { QueueWorkers } from './queue-workers.ts'
export {
  formatInputCursor,
  formatRunCursor,
  formatSeqCursor,
  pageOf,
  parseInputCursor,
  parseRunCursor,
  parseSeqCursor,
  runIdOf,
  type RunPosition
} from './run-cursor.ts'
export {
  formatMessageCursor,
  formatSessionCursor,
  parseMessageCursor,
  parseSessionCursor,
  type SessionPosition
} from './session-cursor.ts'
export { SessionFollowers } from './session-followers.ts'
export { SessionLocks } from './session-locks.ts'
export { isOwnTurn, runIdOfTurn, titleOf } from './session-title.ts'
export {
  firstToExpire,
  MAX_LISTED_ARGS,
  MAX_LISTED_INPUTS,
  NOTHING_PENDING,
  pendingOf,
  previewOfJson,
  summarizeInput,
  summarizeRun
} from './summarize-run.ts'
export { weighWord, wordsOf } from './words.ts'
