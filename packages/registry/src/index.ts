export { default, type RegistryPluginOptions } from './plugin.ts'
export type {
  EngineLimits,
  QueueOptions,
  RecordOptions,
  RegistryOptions,
  RetentionOptions,
  RunEngineOptions
} from './options.ts'
export { createRegistry, globalRegistry, type Registry, type RegistryChange } from './registry.ts'
export { defineRunnable } from './runnables/define-runnable.ts'
export type { NamedRunnables } from './runnables/named-runnables.ts'
export { whileServing } from './app/while-serving.ts'

export type { AppPolicy } from './access/policy.ts'
export type { Exposures } from './access/exposures.ts'
export type {
  ApprovalAnswer,
  ApprovalOutcome,
  ApprovalRequest,
  Approvals,
  PendingApproval
} from '@svc/contract'
export type { ClientTool } from '@svc/contract'
export type { ToolChoice } from '@svc/contract'
export type { CredentialsAnswer, CredentialsRequest } from '@svc/contract'
export type {
  Answer,
  ClientCall,
  InputAnswer,
  InputKind,
  InputOutcome,
  PendingInput,
  Question
} from '@svc/contract'
export {
  textOfInput,
  type AcceptedMessage,
  type ContentPart,
  type FileContent,
  type FileContentPart,
  type MessageInput,
  type RunInput
} from '@svc/contract'
export { createError, isTellable, type ErrorClass, type TellableError } from '@svc/contract'
export type { EventBus, EventListener, EventMap, EventName } from '@svc/contract'
export { GLOBAL_REGISTRY, RUNNABLE_KINDS, type RunnableKey, type RunnableKind } from '@svc/contract'
export {
  isTerminalPart,
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
} from '@svc/contract'
export {
  type Principal,
  ANONYMOUS,
  type Credentials,
  type SecuritySchemes,
  type Authenticate,
  type Action,
  type AccessTarget,
  type AccessDecision,
  type Authorize
} from '@svc/contract'
export { ProviderKey, type Redact, type TextInIncrements } from '@svc/contract'
export type { OnDisconnect, RunBody, WhenBusy } from '@svc/contract'
export type { EarlierAnswer, EarlierWait, Journal, RecordedPart } from '@svc/contract'
export type { Delivered, Delivery } from '@svc/contract'
export type {
  ChildCaller,
  ChildOptions,
  Envelope,
  RecordedStepOptions,
  RequestedInput,
  RunContext
} from '@svc/contract'
export { Secret } from '@svc/contract'
export type { RunEventMap } from '@svc/contract'
export type { MetadataFilter, RunMetadata } from '@svc/contract'
export { SILENT_LOG, type RunLog } from '@svc/contract'
export { isTerminalStatus, type RunRecord, type RunStatus } from '@svc/contract'
export { collectRun, type RunFile, type RunResult, type RunStats, type ToolCall } from '@svc/contract'
export type {
  PartSink,
  PushedParts,
  Runnable,
  ReplyKind,
  RunnableDefinition,
  RunnableMetadata,
  RunOutput
} from '@svc/contract'
export type { RunnableCard } from '@svc/contract'
export { grantsScope, reachesOwner, isAdmin, findMissingScope } from '@svc/contract'
export { tellable, type TellableFault } from '@svc/contract'
export { addUsage, ZERO_USAGE, type Usage } from '@svc/contract'
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
} from '@svc/contract'
export {
  REG_ERR_BAD_NAME,
  REG_ERR_BAD_KIND,
  REG_ERR_BAD_RUNNABLE,
  REG_ERR_NAME_TAKEN,
  REG_ERR_ID_SHARED,
  REG_ERR_BAD_OPTION,
  REG_ERR_BAD_ERROR,
  REG_ERR_OLD_NODE,
  REG_ERR_PLUGIN_ORDER,
  REG_ERR_REGISTERED_TWICE,
  REG_ERR_STORE_IN_USE,
  REG_ERR_BAD_CURSOR,
  RUN_ERR_NOT_FOUND,
  RUN_ERR_TERMINAL,
  RUN_ERR_KEY_REUSED,
  RUN_ERR_SESSION_BUSY,
  RUN_ERR_NOT_ENDED,
  RUN_ERR_WHEN_BUSY,
  RUN_ERR_NO_TURN,
  RUN_ERR_SESSION_EXISTS,
  RUN_ERR_BAD_INPUT,
  RUN_ERR_NO_CONVERSATION,
  RUN_ERR_TOOL_NAME_TAKEN,
  RUN_ERR_CLIENT_INSTRUCTIONS,
  RUN_ERR_CLIENT_TOOLS,
  RUN_ERR_BAD_SCHEMA,
  RUN_ERR_APPROVAL_NOT_FOUND,
  RUN_ERR_APPROVAL_ANSWERED,
  RUN_ERR_INPUT_NOT_FOUND,
  RUN_ERR_INPUT_ANSWERED,
  RUN_ERR_INPUT_EXPIRED,
  RUN_ERR_BAD_QUESTION,
  RUN_ERR_APPROVAL_DENIED,
  RUN_ERR_INTERRUPTED,
  RUN_ERR_POISONED,
  RUN_ERR_KEY_GONE,
  RUN_ERR_LOG_LIMIT,
  RUN_ERR_FILE_LIMIT,
  RUN_ERR_FILE_NOT_FOUND,
  RUN_ERR_FILES_NOT_KEPT,
  RUN_ERR_BAD_RANGE,
  RUN_ERR_BAD_PART,
  RUN_ERR_BAD_RESULT,
  RUN_ERR_REJECTED,
  RUN_ERR_FAILED,
  RUN_ERR_FENCED,
  RUN_ERR_OVERLOADED,
  RUN_ERR_TOO_MANY_RUNS,
  RUN_ERR_WAITING_LIMIT,
  RUN_ERR_NOT_QUEUEABLE,
  RUN_ERR_DRAINING,
  RUN_ERR_NO_LEASE,
  RUN_ERR_RECOVERING,
  RUN_ERR_SUSPENDED,
  RUN_ERR_READER_LEFT,
  RUN_ERR_CANCELED,
  RUN_ERR_DAMAGED,
  RUN_ERR_STORE,
  RUN_ERR_SCHEDULE_NOT_FOUND,
  RUN_ERR_BAD_SCHEDULE,
  RUN_ERR_SCHEDULE_CRON,
  RUN_ERR_SCHEDULE_NEVER,
  RUN_ERR_SCHEDULE_TOO_OFTEN,
  RUN_ERR_SCHEDULE_TIME_ZONE,
  RUN_ERR_SCHEDULE_PAST,
  RUN_ERR_SCHEDULE_BINARY,
  RUN_ERR_TOO_MANY_SCHEDULES,
  RUN_ERR_SCHEDULE_CHANGED,
  RUN_ERR_SCHEDULES_NOT_KEPT,
  RUN_ERR_SCHEDULE_REFUSED,
  RUN_ERR_SCHEDULE_NO_RUNNABLE,
  RUN_ERR_SESSION_NOT_FOUND,
  RUN_ERR_BAD_SESSION,
  RUN_ERR_SESSIONS_NOT_KEPT,
  RUN_ERR_BAD_POSITION,
  RUN_ERR_LOG_GONE,
  RUN_ERR_WEBHOOK_NOT_FOUND,
  RUN_ERR_BAD_WEBHOOK,
  RUN_ERR_WEBHOOK_URL,
  RUN_ERR_WEBHOOK_NO_SECRET,
  RUN_ERR_TOO_MANY_WEBHOOKS,
  RUN_ERR_WEBHOOKS_NOT_KEPT,
  RUN_ERR_DELIVERY_NOT_FOUND,
  RUN_ERR_DELIVERY_NOT_DEAD,
  VOICE_ERR_NOT_A_VOICE,
  VOICE_ERR_BAD_FORMAT,
  VOICE_ERR_BAD_FRAME,
  VOICE_ERR_FRAME_TOO_LARGE,
  VOICE_ERR_TOO_FAST,
  VOICE_ERR_INPUT_FULL,
  VOICE_ERR_UNKNOWN_ITEM,
  VOICE_ERR_BAD_POSITION,
  VOICE_ERR_BAD_AFTER,
  VOICE_ERR_OUTPUT_GONE,
  VOICE_ERR_CALL_ENDED
} from '@svc/contract'

export { channelName } from './events/emit-event.ts'
export { createEventBus } from './events/create-event-bus.ts'
export { createContext, type ContextOptions } from './engine/create-context.ts'
export { removeSubject, type RemovedSubject } from './erasure/remove-subject.ts'
export { removeSession, type RemovalOptions, type RemovedSession } from './erasure/remove-session.ts'
export { createRunEngine } from './engine/create-run-engine.ts'
export type { Run, RunEngine, StartRefusal } from './engine/run-engine.ts'
export type { CallerOptions, StartOptions } from './engine/start-options.ts'
export type {
  NewScheduleOptions,
  OwnedSchedule,
  OwnedSchedulePage,
  ScheduleOptions,
  Schedules
} from './schedules/schedules.ts'
export type { ChannelPart, Sessions } from './sessions/sessions.ts'
export type { Session, SessionChange, SessionFork } from '@svc/contract'
export type { OwnedDelivery, OwnedWebhook, WebhookOwner, Webhooks } from './webhooks/webhooks.ts'
export type {
  DeliveryState,
  NewWebhook,
  Webhook,
  WebhookChange,
  WebhookDelivery,
  WebhookEvent
} from '@svc/contract'
export type { GivenChange } from './schedules/schedule-plan.ts'
export type { CatchUp, NewSchedule, Schedule, ScheduleChange } from '@svc/contract'

export type { Awaitable } from '@svc/contract'
export type { CheckpointStore } from '@svc/contract'
export type { Counted, CounterStore, CounterWindow } from '@svc/contract'
export type { BrowserState, BrowserStateStore } from '@svc/contract'
export type { RemoteSession, RemoteSessionStore } from '@svc/contract'
export type { ByteRange, FileStore, NewFile, StoredFile } from '@svc/contract'
export type { ControlBus, ControlMessage } from '@svc/contract'
export type { MemoryItem, MemoryStore, ScoredMemoryItem } from '@svc/contract'
export type { NodeLease, RunFence } from '@svc/contract'
export type { NextQuery, NextRun, QueuedStart, RunQueue } from '@svc/contract'
export type { RegistryScope, RunScope } from '@svc/contract'
export {
  type StoredError,
  type StartKey,
  type LeftTurn,
  type StoredRun,
  type StoredSteer,
  type RunSummary,
  type RunChange,
  type StepRecord,
  type RunQuery,
  type RunPage,
  type Wanted,
  type ChangedRunQuery,
  type ChangedRunPage,
  type OwnedRunQuery,
  type LeftRun,
  type LeftQuery,
  type LeftPage,
  type RunStore
} from '@svc/contract'
export { type SteeringMessage, type Steer, type Steering } from '@svc/contract'
export {
  type SchedulePlan,
  type ScheduleState,
  type StoredSchedule,
  type ScheduleQuery,
  type SchedulePage,
  type DueQuery,
  type ScheduleStore
} from '@svc/contract'
export {
  type StoredWebhook,
  type WebhookQuery,
  type WebhookPage,
  type StoredDelivery,
  type ClaimedDelivery,
  type BusyReceivers,
  type ClaimQuery,
  type DeliveryOutcome,
  type DeliveryQuery,
  type DeliveryPage,
  type WebhookStore
} from '@svc/contract'
export {
  type StoredInput,
  type InputSummary,
  type PendingSummary,
  type InputRun,
  type FoundInput,
  type InputQuery,
  type InputPage
} from '@svc/contract'
export {
  type StoredSession,
  type SessionQuery,
  type SessionPage,
  type StoredMessage,
  type MessageQuery,
  type TurnBranches,
  type MessagePage,
  type SessionRun,
  type SessionUpdate,
  type SessionIndex
} from '@svc/contract'
export type {
  ContentReference,
  Continuation,
  EndTurn,
  OwnedSessions,
  PlacedTurn,
  SessionKey,
  SessionKeyQuery,
  SessionMessage,
  SessionStore,
  TurnPlace
} from '@svc/contract'
export type { Stores } from '@svc/contract'
export type { LogEntry, ReadLimit, StreamLog } from '@svc/contract'
export {
  type StoredTask,
  type PushConfig,
  type OpenPush,
  type PushClaim,
  type PushConfigOutcome,
  type TaskQuery,
  type TaskPage,
  type TaskStore
} from '@svc/contract'
export type { JsonPieces } from '@svc/contract'
export { createInProcessStores } from './stores/in-process/in-process-stores.ts'
