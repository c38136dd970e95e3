export * from '../access/admit-run.ts'
export type { Exposed } from '../access/exposed.ts'
export {
  EXPOSED_OPTIONS,
  listNamed,
  namedRunnablesSchema,
  type ExposedOptions
} from '../access/exposed-options.ts'
export { Exposures, type ExposedRunnable } from '../access/exposures.ts'
export { identify, type CredentialErrors } from '../access/identify.ts'
export { logFault, type LoggedFault } from '../access/log-fault.ts'
export {
  POLICY_OPTIONS,
  resolveAuthorize,
  resolvePolicy,
  type Policy,
  type PolicyOptions,
  type SurfacePolicy
} from '../access/policy.ts'
export { DEFAULT_PROVIDER_KEY_HEADERS, ProviderKeys } from '../access/provider-keys.ts'
export { createPublicLookup, isPublicHost } from '../access/public-hosts.ts'
export { isLocalName, isLoopback, isStrayCall, type LocalCall } from '../access/local-calls.ts'
export {
  isForeignOrigin,
  readCredentials,
  toCredentials,
  type TokenPlace
} from '../access/read-credentials.ts'
export { createRedact } from '../access/redact-value.ts'
export {
  LISTED_KINDS,
  mayAnswer,
  requireAnswerable,
  seesAllOf,
  type InputList
} from '../access/require-answerable.ts'
export { requireRun, type RunAccess } from '../access/require-run.ts'
export {
  ownerOfSessions,
  requireSession,
  type SessionAccess,
  type SessionReference
} from '../access/require-session.ts'
export {
  WireSchema,
  type SurfaceOptions,
  type SurfaceStartOptions,
  type Wire
} from '../access/surface-options.ts'
export { toChallenge, type ChallengeCodes } from '../access/to-challenge.ts'

export { requireFreePlace, rootOf } from '../app/app-scope.ts'
export { requireEngine, requireNoEngine } from '../app/engine-order.ts'
export { ensureEngine } from '../app/ensure-engine.ts'
export { findEntry, resolveFrom } from '../app/find-entry.ts'
export { splitRegisterOptions } from '../app/register-options.ts'
export { requireNode, warnOfTimeouts } from '../app/start-checks.ts'

export {
  AcceptedMessageSchema,
  ContentPartSchema,
  isBlank,
  MessageInputSchema
} from '../contract/content-part.ts'
export { codeOf, isCatalogued } from '../contract/create-error.ts'
export { ClientToolsSchema } from '../contract/client-tool.ts'
export { findChoiceFault, ToolChoiceSchema } from '../contract/tool-choice.ts'
export { findJsonFault } from '../contract/json-fault.ts'
export { MAX_NAME_LENGTH, requireName, RunnableKindSchema } from '../contract/names.ts'
export { FinishReasonSchema, PART_SCHEMAS, PlaceSchema, ToolErrorSchema } from '../contract/part.ts'
export { UsageSchema } from '../contract/usage.ts'
export { isPromise } from '../contract/ports/awaitable.ts'
export { memorySpaceOf } from '../contract/ports/memory-store.ts'
export { ConversationSchema } from '../contract/ports/session-store.ts'
export {
  IdSchema,
  InstructionsSchema,
  OnDisconnectSchema,
  RunBodySchema,
  WhenBusySchema
} from '../contract/run-body.ts'
export { MetadataValueSchema, RunMetadataSchema } from '../contract/run-metadata.ts'
export { eventSchema, RUN_EVENT_SCHEMAS } from '../contract/run-events.ts'
export { ApprovalAnswerSchema, PendingApprovalSchema } from '../contract/approval.ts'
export { InputAnswerSchema, PendingInputSchema } from '../contract/input.ts'
export { RunRecordSchema, RunStatusSchema } from '../contract/run-record.ts'
export { fileOfAudio, RunFileSchema, RunResultBuilder, RunResultSchema } from '../contract/run-result.ts'
export { ToolCallList, toolCallKey } from '../contract/tool-call-list.ts'
export { RunnableMetadataSchema } from '../contract/runnable.ts'
export { MediaRangeSchema, RunnableCardSchema } from '../contract/runnable-card.ts'
export {
  SessionChangeSchema,
  SessionForkSchema,
  TurnBranchesSchema,
  SessionEntrySchema,
  SessionSchema
} from '../contract/session.ts'
export {
  DeliveryStateSchema,
  NewWebhookSchema,
  WebhookChangeSchema,
  WebhookDeliverySchema,
  WebhookSchema
} from '../contract/webhook.ts'
export { NewScheduleSchema, ScheduleChangeSchema, ScheduleSchema } from '../contract/schedule.ts'

export { emitEvent, type EventFields, type EventOrigin } from '../events/emit-event.ts'
export { hasReport, RunReport } from '../events/run-report.ts'
export { pathSegment } from '../files/file-urls.ts'
export { keepFile, sha256Of, type MadeFile } from '../files/keep-file.ts'
export { readBytes, requireFile } from '../files/require-file.ts'
export { sendFile } from '../files/send-file.ts'
export { toLoggable } from '../logging/to-loggable.ts'
export { safePost, type SafeRequest } from '../outbound/safe-post.ts'
export {
  readTarget,
  requirePublicTarget,
  UnsafeTargetError,
  type Lookup,
  type TargetRules
} from '../outbound/safe-target.ts'
export {
  functionSchema,
  givenOf,
  objectSchema,
  optionsSchema,
  requireOptions,
  type OptionFields,
  type OptionsSchema
} from '../options.ts'
export { reserveMemory } from '../requests/answer-memory.ts'
export { basePathOf, baseUrlOf, originOf, type AddressedRequest } from '../requests/base-url.ts'
export { sendJson, sendPieces, sendWhole } from '../requests/send-json.ts'
export { completeFinish } from '../runs/complete-finish.ts'
export { findFaults, type FaultOptions } from '../schemas/find-faults.ts'
export {
  faultsOfIssues,
  formatFaults,
  keysOf,
  toFaults,
  type AjvError,
  type Fault,
  type StandardIssue
} from '../schemas/format-faults.ts'
export { validateStandard, type StandardResult } from '../schemas/standard-schema.ts'
export { collectStream, leaveStream } from '../runnables/collect-stream.ts'
export { NameFinder } from '../runnables/name-finder.ts'
export { namedEntries, toRunnables } from '../runnables/named-runnables.ts'

export { requireAnswer } from '../runs/inputs/require-answer.ts'
export { defaultEvents } from '../runs/create-context.ts'
export { isReplayed } from '../runs/journal/replayed-part.ts'
export { loadResult } from '../runs/load-result.ts'
export { typeOfEntry } from '../runs/log/flat-entry.ts'
export { isEnd, LogReader, readEntries, type LogHost } from '../runs/log/log-reader.ts'
export { hasCallerOptions, prepareStart, requireCaller } from '../runs/prepare-start.ts'
export { requireInput } from '../runs/require-input.ts'
export { errorFromPart, errorFromStored, toPartError, toStoredError } from '../runs/run-error.ts'
export type { EntryReader } from '../runs/log/entry-reader.ts'
export { formatPosition, presentOf } from '../sessions/channel-position.ts'
export { toSession } from '../sessions/sessions.ts'
export { toPendingApproval, toPendingInput, toRunRecord } from '../runs/to-run-record.ts'

export {
  bytesPerSample,
  DEFAULT_AUDIO_FORMAT,
  durationOf,
  requireAudioFormat
} from '../voice/audio-format.ts'
export type { CallConnection, CallEnd, ClientInput } from '../voice/call-connection.ts'
export { InputQueue } from '../voice/input-queue.ts'
export type { CallClient, LiveCall } from '../voice/live-call.ts'
export { LiveCalls, type AskedCall, type CallSurface } from '../voice/live-calls.ts'
export { VoiceSettingsSchema } from '../voice/voice-settings.ts'

export { dropOldest, setNewest } from '../drop-oldest.ts'
export { callNextTurn, createPause, nextTurn } from '../next-turn.ts'
export { randomId } from '../random-id.ts'
export { newRunId } from '../run-id.ts'
export { backoffDelay, MAX_TIMER, millisecondsSchema, unlessAborted, unlessLate, within } from '../timers.ts'
export { decodeJson, quoteName, type FaultClass } from '../wire/decode-json.ts'
export {
  beginningOf,
  createJsonStream,
  encodePieces,
  estimateLength,
  isShort
} from '../wire/encode-pieces.ts'
