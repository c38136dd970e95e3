export {
  isOwnTurn,
  KeyedLock,
  runIdOfTurn,
  SessionFollowers,
  SessionLocks,
  reachOf,
  titleOf,
  weighWord,
  wordsOf,
  type Release
} from './sessions.ts'
export { CodeTable } from './code-table.ts'
export { candidatesFor, CODE_BYTES, codeOfEmbedding, cosine, isComparable } from './embedding-codes.ts'
export { encodeText, entryFromJson, sizeOfEntry, TextEntry } from './log-entry.ts'
export { PassingMap, type Slot } from './passing-map.ts'
export { QueueWorkers } from './queue-workers.ts'
export {
  firstToExpire,
  formatInputCursor,
  formatMessageCursor,
  formatRunCursor,
  formatSeqCursor,
  formatSessionCursor,
  MAX_LISTED_ARGS,
  MAX_LISTED_INPUTS,
  NOTHING_PENDING,
  pageOf,
  parseInputCursor,
  parseMessageCursor,
  parseRunCursor,
  parseSeqCursor,
  parseSessionCursor,
  pendingOf,
  previewOfJson,
  runIdOf,
  summarizeInput,
  summarizeRun,
  type RunPosition,
  type SessionPosition
} from './cursors.ts'
