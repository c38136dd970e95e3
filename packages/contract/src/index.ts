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
  addUsage,
  ContentPartSchema,
  copyUsage,
  DataContentPartSchema,
  FileContentPartSchema,
  FinishReasonSchema,
  hasMetadata,
  isBlank,
  isTerminalPart,
  isToolPart,
  MessageInputSchema,
  MetadataValueSchema,
  NO_METADATA,
  PART_SCHEMAS,
  PartSchema,
  PlaceSchema,
  RunMetadataSchema,
  TextContentPartSchema,
  textOfInput,
  ToolErrorSchema,
  UrlContentPartSchema,
  UsageSchema,
  ZERO_USAGE,
  type AcceptedMessage,
  type ContentPart,
  type FileContent,
  type FileContentPart,
  type FinishReason,
  type InputAction,
  type MessageInput,
  type MetadataFilter,
  type NumberedPart,
  type Part,
  type PartError,
  type PartOf,
  type PartType,
  type RunInput,
  type RunMetadata,
  type StepFinishReason,
  type StepModel,
  CompactionReasonSchema,
  type CompactionReason,
  type ToolError,
  type ToolPart,
  type Usage,
  type YieldedPart
} from './part.ts'
export {
  codeOf,
  createError,
  isCatalogued,
  isExposed,
  toLoggable,
  type ErrorClass,
  type ExposedError
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
  type MiddlewareAround,
  type RecordedPart,
  type RecordedStepOptions,
  type RequestedInput,
  type RunContext,
  type RunLog,
  type RunMiddleware
} from './run-context.ts'
export { dropOldest, setNewest } from './drop-oldest.ts'
export {
  beginningOf,
  callNextTurn,
  copyJson,
  createJsonStream,
  createPause,
  defined,
  encodePieces,
  estimateLength,
  findJsonFault,
  isShort,
  nextTurn,
  type Defined,
  type JsonCopy,
  type JsonPieces
} from './json.ts'
export * as errors from './errors.ts'
export {
  eventSchema,
  RUN_EVENT_SCHEMAS,
  type EventBus,
  type EventListener,
  type EventMap,
  type EventName,
  type RunEventMap
} from './events.ts'
export {
  GLOBAL_REGISTRY,
  MAX_NAME_LENGTH,
  NameFinder,
  newRunId,
  NO_REGISTRY,
  parseSessionKey,
  randomId,
  requireKind,
  requireName,
  RUNNABLE_KINDS,
  RunnableKindSchema,
  sessionKeyText,
  TurnKey,
  type RunnableKey,
  type RunnableKind,
  type SessionKey
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
  andThen,
  backoffDelay,
  isPromise,
  MAX_TIMER,
  millisecondsSchema,
  sleepUntil,
  timeOf,
  unlessAborted,
  unlessLate,
  within,
  type Awaitable
} from './awaitable.ts'
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
  type EmbeddedItem,
  type MemoryItem,
  type MemoryItemRetention,
  type MemoryStore,
  type ScoredMemoryItem,
  type SimilarQuery
} from './ports/memory-store.ts'
export type { NextQuery, NextRun, QueuedStart, RunQueue } from './ports/run-queue.ts'
export {
  createScopeFilter,
  RUN_FORMAT,
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
  SessionMessageSchema,
  type SummaryMessage,
  type HistoryBounds,
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
  type SessionKeyQuery,
  type SessionMessage,
  type SessionPage,
  type SessionQuery,
  type SessionRun,
  type SessionSettings,
  type SessionStore,
  type SessionUpdate,
  type StoredMessage,
  type StoredSession,
  type TurnBranches,
  type TurnPlace
} from './ports/session-store.ts'
export { REQUIRED_PORTS, type Stores } from './ports/stores.ts'
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
  asItIs,
  findMissingScope,
  grantsScope,
  isAdmin,
  ProviderKey,
  reachesOwner,
  REDACTED,
  Secret,
  type AccessDecision,
  type AccessTarget,
  type Action,
  type Authenticate,
  type Authorize,
  type Credentials,
  type Principal,
  type Redact,
  type SecuritySchemes,
  type TextInIncrements
} from './principal.ts'
export {
  RunCalls,
  isWithin,
  sourceKey,
  toolCallKey,
  ToolCallList,
  VoidableList,
  type CallChange,
  type CallPart,
  type CallPlace,
  type CallsPart,
  type RunCall
} from './run-calls.ts'
export { RunSpeech, TurnTexts, type Increment, type Passage } from './run-speech.ts'
export { PartialObjects } from './partial-objects.ts'
export { RunView, type AskingPart } from './run-view.ts'
export {
  AfterTurnSchema,
  findChoiceFault,
  IdSchema,
  InstructionsSchema,
  OnDisconnectSchema,
  RunBodySchema,
  CompactAtSchema,
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
  collectRun,
  fileOfAudio,
  isTerminalStatus,
  RunFileSchema,
  RunRecordSchema,
  RunResultBuilder,
  RunResultSchema,
  RunStatusSchema,
  type RunFile,
  type RunRecord,
  type RunResult,
  type RunStats,
  type RunStatus,
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
export { checkOf, compileCheck } from './schemas/check-of.ts'
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
export { expose, type ExposableError } from './expose.ts'
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
export {
  DeliveryStateSchema,
  NewWebhookSchema,
  SESSION_EVENTS,
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
  type ReportedEvent,
  type WebhookEvent
} from './webhook.ts'
export type { ContractTest } from './contract-test.ts'
