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
export { defineRunnable, type NamedRunnables } from './runnables/define-runnable.ts'
export { whileServing } from './app/while-serving.ts'

export type { AppPolicy } from './access/policy.ts'
export type { Surfaces } from './access/surfaces.ts'
export type * from '@svc/contract'
export {
  addUsage,
  ANONYMOUS,
  collectRun,
  createError,
  errors,
  expose,
  findMissingScope,
  GLOBAL_REGISTRY,
  grantsScope,
  isAdmin,
  isExposed,
  isTerminalPart,
  isTerminalStatus,
  isVoiceRunnable,
  ProviderKey,
  reachesOwner,
  RUNNABLE_KINDS,
  Secret,
  SILENT_LOG,
  textOfInput,
  ZERO_USAGE
} from '@svc/contract'

export { channelName, createEventBus } from './events/event-bus.ts'
export { createContext, type ContextOptions } from './engine/context.ts'
export { removeSubject, type RemovedSubject } from './erasure/remove-subject.ts'
export { removeSession, type RemovalOptions, type RemovedSession } from './erasure/remove-session.ts'
export { createRunEngine } from './engine/engine.ts'
export type { Run, RunEngine, StartRefusal } from './engine/run-engine.ts'
export type { CallerOptions, StartOptions } from './engine/start-options.ts'
export type {
  NewScheduleOptions,
  OwnedSchedule,
  OwnedSchedulePage,
  ScheduleChangeOptions,
  ScheduleOptions,
  Schedules
} from './schedules/schedules.ts'
export type { ChannelPart, Sessions } from './sessions/sessions.ts'
export type { OwnedDelivery, OwnedWebhook, WebhookOwner, Webhooks } from './webhooks/webhooks.ts'
export type { GivenChange } from './schedules/schedule-plan.ts'
export { createInProcessStores } from './stores/in-process/in-process-stores.ts'
