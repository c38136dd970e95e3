export {
  admitRun,
  DEFAULT_PROVIDER_KEY_HEADERS,
  mayRun,
  missingScope,
  ProviderKeys,
  requireAllowed,
  requireCallerOptions,
  requireExposed,
  requireOwnUser,
  toStartOptions,
  type AccessErrors,
  type AdmittingSurface
} from './access/admit-run.ts'
export {
  answerInputs,
  cancelActiveRun,
  findActiveRun,
  readConversation,
  requireRunOf,
  runsOfConversation,
  startUnlessWaiting,
  type GivenAnswer
} from './access/conversations.ts'
export {
  conversationFiles,
  conversationRoutes,
  NameParamsSchema,
  UserQuerySchema,
  type ConversationPlace,
  type ConversationRequest,
  type ConversationWire
} from './access/conversation-routes.ts'
export {
  createKeySet,
  findKeys,
  type FindKeys,
  type KeyHeader,
  type KeySetSettings
} from './access/key-set.ts'
export {
  EXPOSED_OPTIONS,
  namedRunnablesSchema,
  CONVERSATION_DEFAULTS,
  SESSION_DEFAULTS,
  resolveWireOptions,
  WIRE_OPTIONS,
  WireOptionsSchema,
  type ExposedOptions,
  type WireOptions
} from './access/wire-options.ts'
export {
  identify,
  isForeignOrigin,
  isLocalName,
  isLoopback,
  isStrayCall,
  localCallOf,
  readCredentials,
  toChallenge,
  toCredentials,
  type LocalCall,
  type TokenPlace
} from './access/callers.ts'
export { logFault } from './access/log-fault.ts'
export { answerOfText, valueOfText } from './access/text-answer.ts'
export { readRunnableId, toRunnableId, type NamedRunnable } from './access/runnable-id.ts'
export {
  LISTED_KINDS,
  mayAnswer,
  ownerOfSessions,
  requireAnswerable,
  requireRun,
  requireSession,
  seesAllOf,
  type InputList,
  type SessionReference
} from './access/require-owned.ts'
export type { CallConnection, CallEnd, ClientInput } from './calls/outputs.ts'
export { LiveCall } from './calls/live-call.ts'
export { LiveCalls, type CallSurface } from './calls/live-calls.ts'
export { contentOfFile, pathSegment, type FileUrl } from './files/file-urls.ts'
export { readBytes, requireFile, sendFile } from './files/send-file.ts'
export {
  exposeSurface,
  openSurface,
  type Surface,
  type WireDescription,
  type WireSurface
} from './open-surface.ts'
export { bytesReply, describeRoutes, eventsReply, jsonReply } from './openapi/describe-routes.ts'
export type { OpenApiDocument, Operation, Response, Schema } from './openapi/open-api-document.ts'
export { refTo } from './openapi/schema-objects.ts'
export { reserveLargest, reserveMemory, type Admit } from './requests/answer-memory.ts'
export { basePathOf, baseUrlOf, originOf, type AddressedRequest } from './requests/base-url.ts'
export { createIntegerReader, decodeJson, quoteName } from './requests/strict-json.ts'
export { discardRest } from './requests/discard-rest.ts'
export { identifyCallers } from './requests/identify-callers.ts'
export {
  completeHook,
  refuseEarly,
  refuseFloods,
  type EarlyRefusals,
  type HookAct
} from './requests/guard-scope.ts'
export {
  appCodeOf,
  nameRequests,
  refuseUnknownRoutes,
  sendRefusal,
  toRefusal,
  type Refusal
} from './requests/refuse-requests.ts'
export {
  onClientLeft,
  onReplyOver,
  OpenReplies,
  sendJson,
  sendPieces,
  sendWhole,
  tieToClient
} from './requests/open-replies.ts'
export {
  encodeEntry,
  encodeEvents,
  encodeLarge,
  EventStream,
  MAX_WHOLE,
  openEventStream,
  type RunProjection,
  type StreamStart
} from './sse/event-stream.ts'
export { CompactedSessionSchema, startCompaction, messagesLeftOut } from './sessions/compact-session.ts'
export { partialQuery, PartialNotice, PartialReader, wantsPartial } from './sse/partial-reader.ts'
export { beginSession, findSession, requireKept } from './sessions/find-session.ts'
export {
  createSchedule,
  cursorOfSchedule,
  cursorOfScheduledRun,
  findSchedule,
  findScheduledRun,
  isFiveFields,
  labelOf,
  listScheduledRuns,
  listSchedules,
  relabel,
  runSchedule,
  scheduleOfSession,
  type PickedPage,
  type ScheduledRun,
  type ScheduleLabel
} from './sessions/session-schedules.ts'
export { sendMessage, type SendOptions } from './sessions/send-message.ts'
export { filesOfTurn, readFileId, toFileId, type SessionFile } from './sessions/session-files.ts'
export {
  expiryOf,
  streamSession,
  type SessionEvents,
  type SessionStreamOptions
} from './sessions/session-stream.ts'
export {
  findTurn,
  pageOfItems,
  partsOf,
  turnsFrom,
  turnsOfSession,
  type ItemPage,
  type ItemQuery,
  type ListOrder,
  type SessionTurn
} from './sessions/session-turns.ts'
export {
  createSseStream,
  encodeSse,
  SSE_HEADERS,
  SSE_HEARTBEAT,
  streamEntries,
  type SseProjection,
  type SseStreamOptions
} from './sse/sse-stream.ts'
export { surfaceErrors, type SurfaceErrors } from './surface-errors.ts'
export {
  createRegistry,
  defineRunnable,
  removeSession,
  removeSubject,
  whileServing,
  type AppPolicy,
  type NamedRunnables,
  type OwnedDelivery,
  type OwnedSchedule,
  type OwnedWebhook,
  type Registry,
  type RegistryPluginOptions,
  type RemovedSubject,
  type Run,
  type RunEngine,
  type StartOptions
} from '@svc/registry'
export {
  createInProcessCounterStore,
  createInProcessRemoteSessionStore,
  createRedact,
  ensureEngine,
  Exposed,
  findEntry,
  formatPosition,
  isEnd,
  keepFile,
  loadResult,
  LogReader,
  namedEntries,
  partsOfTurn,
  POLICY_OPTIONS,
  SHARED_OPTIONS,
  presentOf,
  readPresent,
  readTarget,
  readTurn,
  readTurns,
  removeRun,
  requireAnswer,
  requireFreePlace,
  requirePublicTarget,
  resolvePolicy,
  rootOf,
  safePost,
  splitRegisterOptions,
  steerOf,
  toPendingApproval,
  toPendingInput,
  toRunnables,
  toRunRecord,
  toSession,
  typeOfEntry,
  UnsafeTargetError,
  upcomingInstants,
  warnOfTimeouts,
  WireSchema,
  type EntryReader,
  type LogHost,
  type TransientPart,
  type Lookup,
  type MadeFile,
  type Policy,
  type PolicyOptions,
  type TargetRules,
  type Turn
} from '@svc/registry/engine'
