export {
  ApprovalAnswerSchema,
  fromApprovalAnswer,
  PendingApprovalSchema,
  toApprovalOutcome,
  type ApprovalAnswer,
  type ApprovalOutcome,
  type ApprovalRequest,
  type Approvals,
  type PendingApproval
} from './approval.ts'
export { ClientToolsSchema, type ClientTool } from './client-tool.ts'
export {
  AcceptedMessageSchema,
  ContentPartSchema,
  DataContentPartSchema,
  FileContentPartSchema,
  isBlank,
  MessageInputSchema,
  TextContentPartSchema,
  textOfInput,
  UrlContentPartSchema,
  type AcceptedMessage,
  type ContentPart,
  type FileContent,
  type FileContentPart,
  type MessageInput,
  type RunInput
} from './content-part.ts'
export {
  codeOf,
  createError,
  isCatalogued,
  isTellable,
  type ErrorClass,
  type TellableError
} from './create-error.ts'
export type { CredentialsAnswer, CredentialsOf, CredentialsRequest } from './credentials-request.ts'
export type { Delivered, Delivery } from './delivery.ts'
export { dropOldest, setNewest } from './drop-oldest.ts'
export {
  beginningOf,
  createJsonStream,
  encodePieces,
  estimateLength,
  isShort,
  type JsonPieces
} from './encode-pieces.ts'
export {
  REG_ERR_BAD_CURSOR,
  REG_ERR_BAD_ERROR,
  REG_ERR_BAD_KIND,
  REG_ERR_BAD_NAME,
  REG_ERR_BAD_OPTION,
  REG_ERR_BAD_RUNNABLE,
  REG_ERR_ID_SHARED,
  REG_ERR_NAME_TAKEN,
  REG_ERR_OLD_NODE,
  REG_ERR_PLUGIN_ORDER,
  REG_ERR_REGISTERED_TWICE,
  REG_ERR_STORE_IN_USE,
  RUN_ERR_APPROVAL_ANSWERED,
  RUN_ERR_APPROVAL_DENIED,
  RUN_ERR_APPROVAL_NOT_FOUND,
  RUN_ERR_BAD_INPUT,
  RUN_ERR_BAD_PART,
  RUN_ERR_BAD_POSITION,
  RUN_ERR_BAD_QUESTION,
  RUN_ERR_BAD_RANGE,
  RUN_ERR_BAD_RESULT,
  RUN_ERR_BAD_SCHEDULE,
  RUN_ERR_BAD_SCHEMA,
  RUN_ERR_BAD_SESSION,
  RUN_ERR_BAD_WEBHOOK,
  RUN_ERR_CANCELED,
  RUN_ERR_CLIENT_INSTRUCTIONS,
  RUN_ERR_CLIENT_TOOLS,
  RUN_ERR_DAMAGED,
  RUN_ERR_DELIVERY_NOT_DEAD,
  RUN_ERR_DELIVERY_NOT_FOUND,
  RUN_ERR_DRAINING,
  RUN_ERR_FAILED,
  RUN_ERR_FENCED,
  RUN_ERR_FILE_LIMIT,
  RUN_ERR_FILE_NOT_FOUND,
  RUN_ERR_FILES_NOT_KEPT,
  RUN_ERR_INPUT_ANSWERED,
  RUN_ERR_INPUT_EXPIRED,
  RUN_ERR_INPUT_NOT_FOUND,
  RUN_ERR_INTERRUPTED,
  RUN_ERR_KEY_GONE,
  RUN_ERR_KEY_REUSED,
  RUN_ERR_LOG_GONE,
  RUN_ERR_LOG_LIMIT,
  RUN_ERR_NO_CONVERSATION,
  RUN_ERR_NO_LEASE,
  RUN_ERR_NO_TURN,
  RUN_ERR_NOT_ENDED,
  RUN_ERR_NOT_FOUND,
  RUN_ERR_NOT_QUEUEABLE,
  RUN_ERR_OVERLOADED,
  RUN_ERR_POISONED,
  RUN_ERR_READER_LEFT,
  RUN_ERR_RECOVERING,
  RUN_ERR_REJECTED,
  RUN_ERR_SCHEDULE_BINARY,
  RUN_ERR_SCHEDULE_CHANGED,
  RUN_ERR_SCHEDULE_CRON,
  RUN_ERR_SCHEDULE_NEVER,
  RUN_ERR_SCHEDULE_NO_RUNNABLE,
  RUN_ERR_SCHEDULE_NOT_FOUND,
  RUN_ERR_SCHEDULE_PAST,
  RUN_ERR_SCHEDULE_REFUSED,
  RUN_ERR_SCHEDULE_TIME_ZONE,
  RUN_ERR_SCHEDULE_TOO_OFTEN,
  RUN_ERR_SCHEDULES_NOT_KEPT,
  RUN_ERR_SESSION_BUSY,
  RUN_ERR_SESSION_EXISTS,
  RUN_ERR_SESSION_NOT_FOUND,
  RUN_ERR_SESSIONS_NOT_KEPT,
  RUN_ERR_STORE,
  RUN_ERR_SUSPENDED,
  RUN_ERR_TERMINAL,
  RUN_ERR_TOO_MANY_RUNS,
  RUN_ERR_TOO_MANY_SCHEDULES,
  RUN_ERR_TOO_MANY_WEBHOOKS,
  RUN_ERR_TOOL_NAME_TAKEN,
  RUN_ERR_WAITING_LIMIT,
  RUN_ERR_WEBHOOK_NO_SECRET,
  RUN_ERR_WEBHOOK_NOT_FOUND,
  RUN_ERR_WEBHOOK_URL,
  RUN_ERR_WEBHOOKS_NOT_KEPT,
  RUN_ERR_WHEN_BUSY,
  VOICE_ERR_BAD_AFTER,
  VOICE_ERR_BAD_FORMAT,
  VOICE_ERR_BAD_FRAME,
  VOICE_ERR_BAD_POSITION,
  VOICE_ERR_CALL_ENDED,
  VOICE_ERR_FRAME_TOO_LARGE,
  VOICE_ERR_INPUT_FULL,
  VOICE_ERR_NOT_A_VOICE,
  VOICE_ERR_OUTPUT_GONE,
  VOICE_ERR_TOO_FAST,
  VOICE_ERR_UNKNOWN_ITEM
} from './errors.ts'
export type { EventBus, EventListener, EventMap, EventName } from './event-bus.ts'
export {
  hasLostSecret,
  InputAnswerSchema,
  PendingInputSchema,
  withoutSecret,
  type Answer,
  type ClientCall,
  type InputAnswer,
  type InputKind,
  type InputOutcome,
  type PendingInput,
  type Question
} from './input.ts'
export type { EarlierAnswer, EarlierWait, Journal, RecordedPart } from './journal.ts'
export { findJsonFault } from './json-fault.ts'
export { NameFinder } from './name-finder.ts'
export {
  GLOBAL_REGISTRY,
  MAX_NAME_LENGTH,
  NO_REGISTRY,
  requireKind,
  requireName,
  RUNNABLE_KINDS,
  RunnableKindSchema,
  type RunnableKey,
  type RunnableKind
} from './names.ts'
export { callNextTurn, createPause, nextTurn } from './next-turn.ts'
export {
  functionSchema,
  givenOf,
  objectSchema,
  optionsSchema,
  requireOptions,
  type OptionFields,
  type OptionsSchema
} from './options.ts'
export {
  FinishReasonSchema,
  isTerminalPart,
  PART_SCHEMAS,
  PartSchema,
  PlaceSchema,
  ToolErrorSchema,
  type FinishReason,
  type InputAction,
  type NumberedPart,
  type Part,
  type PartError,
  type PartOf,
  type PartType,
  type StepFinishReason,
  type StepModel,
  type ToolError,
  type YieldedPart
} from './part.ts'
export { isPromise, type Awaitable } from './ports/awaitable.ts'
export type { CheckpointStore } from './ports/checkpoint-store.ts'
export type { ControlBus, ControlMessage } from './ports/control-bus.ts'
export type { Counted, CounterStore, CounterWindow } from './ports/counter-store.ts'
export type { ByteRange, FileStore, NewFile, StoredFile } from './ports/file-store.ts'
export {
  memorySpaceOf,
  type MemoryItem,
  type MemoryItemRetention,
  type MemoryStore,
  type ScoredMemoryItem
} from './ports/memory-store.ts'
export type { NodeLease, RunFence } from './ports/node-lease.ts'
export type { NextQuery, NextRun, QueuedStart, RunQueue } from './ports/run-queue.ts'
export { createScopeFilter, runnableKeyText, type RegistryScope, type RunScope } from './ports/run-scope.ts'
export type {
  ChangedRunPage,
  ChangedRunQuery,
  LeftPage,
  LeftQuery,
  LeftRun,
  LeftTurn,
  OwnedRunQuery,
  RunChange,
  RunPage,
  RunQuery,
  RunStore,
  RunSummary,
  StartKey,
  StepRecord,
  StoredError,
  StoredRun,
  StoredSteer,
  Wanted
} from './ports/run-store.ts'
export type {
  DueQuery,
  SchedulePage,
  SchedulePlan,
  ScheduleQuery,
  ScheduleState,
  ScheduleStore,
  StoredSchedule
} from './ports/schedule-store.ts'
export type {
  MessagePage,
  MessageQuery,
  SessionIndex,
  SessionPage,
  SessionQuery,
  SessionRun,
  SessionUpdate,
  StoredMessage,
  StoredSession,
  TurnBranches
} from './ports/session-index.ts'
export {
  ConversationSchema,
  isOfSession,
  parseSessionKey,
  sessionKeyText,
  SessionMessageSchema,
  type BrowserState,
  type BrowserStateStore,
  type ContentReference,
  type Continuation,
  type EndTurn,
  type OwnedSessions,
  type PlacedTurn,
  type RemoteSession,
  type RemoteSessionStore,
  type SessionKey,
  type SessionKeyQuery,
  type SessionMessage,
  type SessionStore,
  type TurnPlace
} from './ports/session-store.ts'
export type {
  FoundInput,
  InputPage,
  InputQuery,
  InputRun,
  InputSummary,
  PendingSummary,
  StoredInput
} from './ports/stored-input.ts'
export type { Stores } from './ports/stores.ts'
export type { LogEntry, ReadLimit, StreamLog } from './ports/stream-log.ts'
export type {
  OpenPush,
  PushClaim,
  PushConfig,
  PushConfigOutcome,
  StoredTask,
  TaskPage,
  TaskQuery,
  TaskStore
} from './ports/task-store.ts'
export type {
  BusyReceivers,
  ClaimedDelivery,
  ClaimQuery,
  DeliveryOutcome,
  DeliveryPage,
  DeliveryQuery,
  StoredDelivery,
  StoredWebhook,
  WebhookPage,
  WebhookQuery,
  WebhookStore
} from './ports/webhook-store.ts'
export {
  ANONYMOUS,
  type AccessDecision,
  type AccessTarget,
  type Action,
  type Authenticate,
  type Authorize,
  type Credentials,
  type Principal,
  type SecuritySchemes
} from './principal.ts'
export { asItIs, ProviderKey, type Redact, type TextInIncrements } from './provider-key.ts'
export { randomId } from './random-id.ts'
export { RunActivity, type AskingPart } from './run-activity.ts'
export {
  AfterTurnSchema,
  IdSchema,
  InstructionsSchema,
  OnDisconnectSchema,
  RunBodySchema,
  WhenBusySchema,
  type OnDisconnect,
  type RunBody,
  type WhenBusy
} from './run-body.ts'
export type {
  ChildCaller,
  ChildOptions,
  Envelope,
  RecordedStepOptions,
  RequestedInput,
  RunContext
} from './run-context.ts'
export { errorFromPart, errorFromStored, isRefusedStart, toPartError, toStoredError } from './run-error.ts'
export { eventSchema, RUN_EVENT_SCHEMAS, type RunEventMap } from './run-events.ts'
export { newRunId } from './run-id.ts'
export { SILENT_LOG, type RunLog } from './run-log.ts'
export {
  hasMetadata,
  MetadataValueSchema,
  NO_METADATA,
  RunMetadataSchema,
  type MetadataFilter,
  type RunMetadata
} from './run-metadata.ts'
export {
  isTerminalStatus,
  RunRecordSchema,
  RunStatusSchema,
  type RunRecord,
  type RunStatus
} from './run-record.ts'
export {
  collectRun,
  fileOfAudio,
  RunFileSchema,
  RunResultBuilder,
  RunResultSchema,
  type RunFile,
  type RunResult,
  type RunStats,
  type ToolCall
} from './run-result.ts'
export { MediaRangeSchema, RunnableCardSchema, type RunnableCard } from './runnable-card.ts'
export {
  RunnableMetadataSchema,
  type PartSink,
  type PushedParts,
  type ReplyKind,
  type Runnable,
  type RunnableDefinition,
  type RunnableMetadata,
  type RunOutput
} from './runnable.ts'
export {
  NewScheduleSchema,
  ScheduleChangeSchema,
  ScheduleSchema,
  type CatchUp,
  type NewSchedule,
  type Schedule,
  type ScheduleChange
} from './schedule.ts'
export { findFaults } from './schemas/find-faults.ts'
export {
  faultsOfIssues,
  formatFaults,
  keysOf,
  toFaults,
  type AjvError,
  type Fault
} from './schemas/format-faults.ts'
export { validateStandard, type StandardResult, type StandardSchema } from './schemas/standard-schema.ts'
export { findMissingScope, grantsScope, isAdmin, reachesOwner } from './scopes.ts'
export { REDACTED, Secret } from './secret.ts'
export {
  SessionChangeSchema,
  SessionEntrySchema,
  SessionFieldsSchema,
  SessionForkSchema,
  SessionSchema,
  TurnBranchesSchema,
  type Session,
  type SessionChange,
  type SessionFork
} from './session.ts'
export type { Steer, Steering, SteeringMessage } from './steering.ts'
export { tellable, type TellableFault } from './tellable.ts'
export {
  backoffDelay,
  MAX_TIMER,
  millisecondsSchema,
  sleepUntil,
  timeOf,
  unlessAborted,
  unlessLate,
  within
} from './timers.ts'
export { toLoggable } from './to-loggable.ts'
export { toolCallKey, ToolCallList } from './tool-call-list.ts'
export { findChoiceFault, StopTextsSchema, ToolChoiceSchema, type ToolChoice } from './tool-choice.ts'
export { isToolPart, type ToolPart } from './tool-part.ts'
export { addUsage, copyUsage, UsageSchema, ZERO_USAGE, type Usage } from './usage.ts'
export {
  AudioFormatSchema,
  bytesPerSample,
  DEFAULT_AUDIO_FORMAT,
  durationOf,
  requireAudioFormat
} from './voice/audio-format.ts'
export { InputQueue } from './voice/input-queue.ts'
export { VoiceSettingsSchema } from './voice/voice-settings.ts'
export {
  isVoiceRunnable,
  type AudioFormat,
  type VoiceAnswerEnd,
  type VoiceInput,
  type VoiceLink,
  type VoiceOutput,
  type VoiceRunnable,
  type VoiceSettings,
  type VoiceTurnSettings
} from './voice/voice.ts'
export { sourceKey, VoidableList } from './voidable-list.ts'
export {
  DeliveryStateSchema,
  NewWebhookSchema,
  WEBHOOK_EVENTS,
  WebhookChangeSchema,
  WebhookDeliverySchema,
  WebhookSchema,
  WebhookSecretSchema,
  type DeliveryState,
  type NewWebhook,
  type Webhook,
  type WebhookChange,
  type WebhookDelivery,
  type WebhookEvent
} from './webhook.ts'
export type { ContractTest } from './contract-test.ts'
