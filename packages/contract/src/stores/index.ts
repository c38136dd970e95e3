export { KeyedLock, SessionLocks, type Release } from './locks.ts'
export { entryFromJson, membersOf, sizeOfEntry, TextEntry } from './log-entry.ts'
export { PassingMap, type Slot } from './passing-map.ts'
export { QueueWorkers } from './queue-workers.ts'
export {
  formatInputCursor,
  formatMessageCursor,
  formatRunCursor,
  formatSeqCursor,
  formatSessionCursor,
  pageOf,
  parseInputCursor,
  parseMessageCursor,
  parseRunCursor,
  parseSeqCursor,
  parseSessionCursor,
  runIdOf,
  type RunPosition,
  type SessionPosition
} from './cursors.ts'
export { isOwnTurn, runIdOfTurn, SessionFollowers, titleOf, weighWord, wordsOf } from './sessions.ts'
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
