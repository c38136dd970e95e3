export {
  admitRun,
  CLIENT_OPTIONS,
  missingScope,
  requireAllowed,
  requireExposed,
  requireOwnUser,
  toStartOptions,
  type AccessErrors,
  type AdmittingSurface
} from './access/admit-run.ts'
export { answerInputs, type GivenAnswer } from './access/answer-inputs.ts'
export { cancelActiveRun, requireRunOf } from './access/conversation-runs.ts'
export {
  EXPOSED_OPTIONS,
  listNamed,
  namedRunnablesSchema,
  type ExposedOptions
} from './access/exposed-options.ts'
export { findActiveRun, runsOfConversation } from './access/find-active-run.ts'
export { identify } from './access/identify.ts'
export { isLocalName, isLoopback, isStrayCall, type LocalCall } from './access/local-calls.ts'
export { logFault } from './access/log-fault.ts'
export { DEFAULT_PROVIDER_KEY_HEADERS, ProviderKeys } from './access/provider-keys.ts'
export {
  isForeignOrigin,
  readCredentials,
  toCredentials,
  type TokenPlace
} from './access/read-credentials.ts'
export {
  LISTED_KINDS,
  mayAnswer,
  requireAnswerable,
  seesAllOf,
  type InputList
} from './access/require-answerable.ts'
export { requireRun } from './access/require-run.ts'
export { ownerOfSessions, requireSession } from './access/require-session.ts'
export { startUnlessWaiting } from './access/start-unless-waiting.ts'
export { toChallenge } from './access/to-challenge.ts'
export {
  resolveWireOptions,
  WIRE_OPTIONS,
  WireOptionsSchema,
  type WireOptions
} from './access/wire-options.ts'
export type { CallConnection, CallEnd, ClientInput } from './calls/call-connection.ts'
export { LiveCall } from './calls/live-call.ts'
export { LiveCalls, type CallSurface } from './calls/live-calls.ts'
export { contentOfFile } from './files/data-url.ts'
export { fileUrlsAt, pathSegment, type FileUrl } from './files/file-urls.ts'
export { readBytes, requireFile } from './files/require-file.ts'
export { sendFile } from './files/send-file.ts'
export { openSurface, type WireDescription, type WireSurface } from './open-surface.ts'
export { describeRoutes, jsonReply } from './openapi/describe-routes.ts'
export type { OpenApiDocument, Operation, Response, Schema } from './openapi/open-api-document.ts'
export { refTo } from './openapi/schema-objects.ts'
export { reserveMemory } from './requests/answer-memory.ts'
export { basePathOf, baseUrlOf, originOf, type AddressedRequest } from './requests/base-url.ts'
export { decodeJson, quoteName } from './requests/decode-json.ts'
export { discardRest, hasRest } from './requests/discard-rest.ts'
export { keepPrivate, localCallOf } from './requests/guard-scope.ts'
export { identifyCallers } from './requests/identify-callers.ts'
export { refuseEarly, refuseFloods } from './requests/refuse-early.ts'
export { closeLater, refuseRequests, toRefusal, type Refusal } from './requests/refuse-requests.ts'
export { sendJson, sendPieces, sendWhole } from './requests/send-json.ts'
export { findEncodingFault, requireStrictJson } from './requests/strict-json.ts'
export { tieToClient } from './requests/tie-to-client.ts'
export { encodeSse, SSE_HEADERS, SSE_HEARTBEAT, SSE_SUSPENDED } from './sse/encode-sse.ts'
export { onReplyOver, OpenReplies } from './sse/open-replies.ts'
export type { SseProjection } from './sse/sse-messages.ts'
export { createSseStream, streamEntries, type SseStreamOptions } from './sse/sse-stream.ts'
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
  warnOfTimeouts,
  WireSchema,
  type EntryReader,
  type LogHost,
  type Lookup,
  type MadeFile,
  type Policy,
  type PolicyOptions,
  type TargetRules,
  type Turn
} from '@svc/registry/engine'
