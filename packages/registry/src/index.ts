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
} from './contract/approval.ts'
export type { ClientTool } from './contract/client-tool.ts'
export type { ToolChoice } from './contract/tool-choice.ts'
export type { CredentialsAnswer, CredentialsRequest } from './contract/credentials-request.ts'
export type {
  Answer,
  ClientCall,
  InputAnswer,
  InputKind,
  InputOutcome,
  PendingInput,
  Question
} from './contract/input.ts'
export {
  textOfInput,
  type AcceptedMessage,
  type ContentPart,
  type FileContent,
  type FileContentPart,
  type MessageInput,
  type RunInput
} from './contract/content-part.ts'
export { createError, isTellable, type ErrorClass, type TellableError } from './contract/create-error.ts'
export type { EventBus, EventListener, EventMap, EventName } from './contract/event-bus.ts'
export { GLOBAL_REGISTRY, RUNNABLE_KINDS, type RunnableKey, type RunnableKind } from './contract/names.ts'
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
} from './contract/part.ts'
export * from './contract/principal.ts'
export { ProviderKey, type Redact, type TextInIncrements } from './contract/provider-key.ts'
export type { OnDisconnect, RunBody, WhenBusy } from './contract/run-body.ts'
export type { EarlierAnswer, EarlierWait, Journal, RecordedPart } from './contract/journal.ts'
export type { Delivered, Delivery } from './contract/delivery.ts'
export type {
  ChildCaller,
  ChildOptions,
  Envelope,
  RecordedStepOptions,
  RequestedInput,
  RunContext
} from './contract/run-context.ts'
export { Secret } from './contract/secret.ts'
export type { RunEventMap } from './contract/run-events.ts'
export type { MetadataFilter, RunMetadata } from './contract/run-metadata.ts'
export { SILENT_LOG, type RunLog } from './contract/run-log.ts'
export { isTerminalStatus, type RunRecord, type RunStatus } from './contract/run-record.ts'
export {
  collectRun,
  type RunFile,
  type RunResult,
  type RunStats,
  type ToolCall
} from './contract/run-result.ts'
export type {
  PartSink,
  PushedParts,
  Runnable,
  ReplyKind,
  RunnableDefinition,
  RunnableMetadata,
  RunOutput
} from './contract/runnable.ts'
export type { RunnableCard } from './contract/runnable-card.ts'
export * from './contract/scopes.ts'
export { tellable, type TellableFault } from './contract/tellable.ts'
export { addUsage, ZERO_USAGE, type Usage } from './contract/usage.ts'
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
} from './contract/voice.ts'
export * from './errors.ts'

export { channelName } from './events/emit-event.ts'
export { createEventBus } from './events/create-event-bus.ts'
export { createContext, type ContextOptions } from './runs/create-context.ts'
export { removeSubject, type RemovedSubject } from './erasure/remove-subject.ts'
export { removeSession, type RemovalOptions, type RemovedSession } from './erasure/remove-session.ts'
export { createRunEngine } from './runs/create-run-engine.ts'
export type { Run, RunEngine, StartRefusal } from './runs/run-engine.ts'
export type { CallerOptions, StartOptions } from './runs/start-options.ts'
export type {
  NewScheduleOptions,
  OwnedSchedule,
  OwnedSchedulePage,
  ScheduleOptions,
  Schedules
} from './schedules/schedules.ts'
export type { ChannelPart, Sessions } from './sessions/sessions.ts'
export type { Session, SessionChange, SessionFork } from './contract/session.ts'
export type { OwnedDelivery, OwnedWebhook, WebhookOwner, Webhooks } from './webhooks/webhooks.ts'
export type {
  DeliveryState,
  NewWebhook,
  Webhook,
  WebhookChange,
  WebhookDelivery,
  WebhookEvent
} from './contract/webhook.ts'
export type { GivenChange } from './schedules/schedule-plan.ts'
export type { CatchUp, NewSchedule, Schedule, ScheduleChange } from './contract/schedule.ts'

export type { Awaitable } from './contract/ports/awaitable.ts'
export type { CheckpointStore } from './contract/ports/checkpoint-store.ts'
export type { Counted, CounterStore, CounterWindow } from './contract/ports/counter-store.ts'
export type { BrowserState, BrowserStateStore } from './contract/ports/session-store.ts'
export type { RemoteSession, RemoteSessionStore } from './contract/ports/session-store.ts'
export type { ByteRange, FileStore, NewFile, StoredFile } from './contract/ports/file-store.ts'
export type { ControlBus, ControlMessage } from './contract/ports/control-bus.ts'
export type { MemoryItem, MemoryStore, ScoredMemoryItem } from './contract/ports/memory-store.ts'
export type { NodeLease, RunFence } from './contract/ports/node-lease.ts'
export type { NextQuery, NextRun, QueuedStart, RunQueue } from './contract/ports/run-queue.ts'
export type { RegistryScope, RunScope } from './contract/ports/run-scope.ts'
export type * from './contract/ports/run-store.ts'
export type * from './contract/steering.ts'
export type * from './contract/ports/schedule-store.ts'
export type * from './contract/ports/webhook-store.ts'
export type * from './contract/ports/stored-input.ts'
export type * from './contract/ports/session-index.ts'
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
} from './contract/ports/session-store.ts'
export type { Stores } from './contract/ports/stores.ts'
export type { LogEntry, ReadLimit, StreamLog } from './contract/ports/stream-log.ts'
export type * from './contract/ports/task-store.ts'
export type { JsonPieces } from './wire/encode-pieces.ts'
export { createInProcessStores } from './stores/in-process/in-process-stores.ts'
