export {
  ApprovalAnswerSchema,
  ClientToolsSchema,
  fromApprovalAnswer,
  hasLostSecret,
  InputAnswerSchema,
  PendingApprovalSchema,
  PendingInputSchema,
  toApprovalOutcome,
  withoutSecret,
  type Answer,
  type ApprovalAnswer,
  type ApprovalOutcome,
  type ApprovalRequest,
  type Approvals,
  type ClientCall,
  type ClientTool,
  type CredentialsAnswer,
  type CredentialsOf,
  type CredentialsRequest,
  type InputAnswer,
  type InputKind,
  type InputOutcome,
  type PendingApproval,
  type PendingInput,
  type Question,
  type Steer,
  type Steering,
  type SteeringMessage
} from './inputs.ts'
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
  toLoggable,
  type ErrorClass,
  type TellableError
} from './create-error.ts'
export {
  SILENT_LOG,
  type ChildCaller,
  type ChildOptions,
  type Delivered,
  type Delivery,
  type EarlierAnswer,
  type EarlierWait,
  type Envelope,
  type Journal,
  type RecordedPart,
  type RecordedStepOptions,
  type RequestedInput,
  type RunContext,
  type RunLog
} from './run-context.ts'
export { dropOldest, setNewest } from './drop-oldest.ts'
export {
  beginningOf,
  callNextTurn,
  createJsonStream,
  createPause,
  encodePieces,
  estimateLength,
  findJsonFault,
  isShort,
  nextTurn,
  type JsonPieces
} from './json.ts'
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
  RUN_ERR_APPROVAL_DENIED,
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
export {
  eventSchema,
  RUN_EVENT_SCHEMAS,
  type EventBus,
  type EventListener,
  type EventMap,
  type EventName,
  type RunEventMap
} from './events.ts'
export { defined, type Defined } from './defined.ts'
export {
  GLOBAL_REGISTRY,
  MAX_NAME_LENGTH,
  NameFinder,
  NO_REGISTRY,
  requireKind,
  requireName,
  RUNNABLE_KINDS,
  RunnableKindSchema,
  type RunnableKey,
  type RunnableKind
} from './names.ts'
export {
  functionSchema,
  objectSchema,
  optionsSchema,
  requireOptions,
  type OptionFields,
  type OptionsSchema
} from './options.ts'
export {
  addUsage,
  copyUsage,
  FinishReasonSchema,
  hasMetadata,
  isTerminalPart,
  isToolPart,
  MetadataValueSchema,
  NO_METADATA,
  PART_SCHEMAS,
  PartSchema,
  PlaceSchema,
  RunMetadataSchema,
  ToolErrorSchema,
  UsageSchema,
  ZERO_USAGE,
  type FinishReason,
  type InputAction,
  type MetadataFilter,
  type NumberedPart,
  type Part,
  type PartError,
  type PartOf,
  type PartType,
  type RunMetadata,
  type StepFinishReason,
  type StepModel,
  type ToolError,
  type ToolPart,
  type Usage,
  type YieldedPart
} from './part.ts'
export { isPromise, type Awaitable } from './ports/awaitable.ts'
export type { CheckpointStore, LogEntry, ReadLimit, StreamLog } from './ports/stream-log.ts'
export type {
  ControlBus,
  ControlMessage,
  Counted,
  CounterStore,
  CounterWindow,
  NodeLease,
  RunFence
} from './ports/nodes.ts'
export type { ByteRange, FileStore, NewFile, StoredFile } from './ports/file-store.ts'
export {
  memorySpaceOf,
  type MemoryItem,
  type MemoryItemRetention,
  type MemoryStore,
  type ScoredMemoryItem
} from './ports/memory-store.ts'
export type { NextQuery, NextRun, QueuedStart, RunQueue } from './ports/run-queue.ts'
export {
  createScopeFilter,
  runnableKeyText,
  type ChangedRunPage,
  type ChangedRunQuery,
  type FoundInput,
  type InputPage,
  type InputQuery,
  type InputRun,
  type InputSummary,
  type LeftPage,
  type LeftQuery,
  type LeftRun,
  type LeftTurn,
  type OwnedRunQuery,
  type PendingSummary,
  type RegistryScope,
  type RunChange,
  type RunPage,
  type RunQuery,
  type RunScope,
  type RunStore,
  type RunSummary,
  type StartKey,
  type StepRecord,
  type StoredError,
  type StoredInput,
  type StoredRun,
  type StoredSteer,
  type Wanted
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
  type MessagePage,
  type MessageQuery,
  type OwnedSessions,
  type PlacedTurn,
  type RemoteSession,
  type RemoteSessionStore,
  type SessionIndex,
  type SessionKey,
  type SessionKeyQuery,
  type SessionMessage,
  type SessionPage,
  type SessionQuery,
  type SessionRun,
  type SessionStore,
  type SessionUpdate,
  type StoredMessage,
  type StoredSession,
  type TurnBranches,
  type TurnPlace
} from './ports/session-store.ts'
export type { Stores } from './ports/stores.ts'
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
  findMissingScope,
  grantsScope,
  isAdmin,
  reachesOwner,
  type AccessDecision,
  type AccessTarget,
  type Action,
  type Authenticate,
  type Authorize,
  type Credentials,
  type Principal,
  type SecuritySchemes
} from './principal.ts'
export { asItIs, ProviderKey, REDACTED, Secret, type Redact, type TextInIncrements } from './secret.ts'
export { newRunId, randomId } from './ids.ts'
export { RunActivity, type AskingPart } from './run-activity.ts'
export { RunCalls, type CallChange, type CallPart, type RunCall } from './run-calls.ts'
export {
  AfterTurnSchema,
  findChoiceFault,
  IdSchema,
  InstructionsSchema,
  OnDisconnectSchema,
  RunBodySchema,
  StopTextsSchema,
  ToolChoiceSchema,
  WhenBusySchema,
  type OnDisconnect,
  type RunBody,
  type ToolChoice,
  type WhenBusy
} from './run-body.ts'
export {
  errorFromPart,
  errorFromStored,
  isLateAnswer,
  isRefusedStart,
  toLateAnswer,
  toPartError,
  toStoredError
} from './run-error.ts'
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
export {
  MediaRangeSchema,
  RunnableCardSchema,
  RunnableMetadataSchema,
  type PartSink,
  type PushedParts,
  type ReplyKind,
  type Runnable,
  type RunnableCard,
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
export {
  faultsOfIssues,
  findFaults,
  formatFaults,
  keysOf,
  toFaults,
  type AjvError,
  type Fault
} from './schemas/faults.ts'
export { validateStandard, type StandardResult, type StandardSchema } from './schemas/standard-schema.ts'
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
export {
  AudioFormatSchema,
  bytesPerSample,
  DEFAULT_AUDIO_FORMAT,
  durationOf,
  isVoiceRunnable,
  requireAudioFormat,
  VoiceSettingsSchema,
  type AudioFormat,
  type VoiceAnswerEnd,
  type VoiceInput,
  type VoiceLink,
  type VoiceOutput,
  type VoiceRunnable,
  type VoiceSettings,
  type VoiceTurnSettings
} from './voice.ts'
export { InputQueue } from './input-queue.ts'
export { sourceKey, toolCallKey, ToolCallList, VoidableList, type CallPlace } from './voidable-list.ts'
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
