import { redactStores } from '../redaction/redact-stores.ts'
import {
  GLOBAL_REGISTRY,
  newRunId,
  randomId,
  SILENT_LOG,
  sleepUntil,
  timeOf,
  type EventBus,
  type RunContext,
  type Stores
} from '@svc/contract'
import { createEventBus } from '../events/event-bus.ts'
import { createInProcessStores } from '../stores/in-process/in-process-stores.ts'
import { HostedContext, listenTo } from './hosted-context.ts'
import type { StartOptions } from './start-options.ts'

/** Options of a run outside an engine. */
export interface ContextOptions extends StartOptions {
  runId?: string
  /** Cancels the run. */
  signal?: AbortSignal
  stores?: Stores
  events?: EventBus
}

/** The event bus of all runs outside an engine. */
export const defaultEvents: EventBus = createEventBus()

let defaultStores: Stores | undefined

/**
 * Creates a context for running a runnable without an engine, in a script or a test: sessions stay in process memory, approvals
 * are denied, questions and requests for credentials canceled because they cannot be answered, and steps are not journaled.
 */
export function createContext(options: ContextOptions = {}): RunContext {
  const { signal = new AbortController().signal } = options
  const stores = options.stores ?? (defaultStores ??= createInProcessStores())
  const ownStores = redactStores(stores, options.redact)
  return new HostedContext({
    runId: options.runId ?? newRunId(),
    record: { registry: options.registry ?? GLOBAL_REGISTRY, metadata: options.metadata ?? null },
    sessionId: options.sessionId ?? randomId(),
    options,
    recordsInput: true,
    resumed: false,
    log: options.log ?? SILENT_LOG,
    lateSignal: { signal, onAbort: (listener) => listenTo(signal, listener) },
    ownStores,
    events: options.events ?? defaultEvents,
    ask: async ({ kind }) =>
      kind === 'approval'
        ? { action: 'decline', reason: 'no one can answer: the run has no engine' }
        : { action: 'cancel' },
    step: async (_key, fn) => fn(),
    waits: {
      waitedMs: 0,
      sleep: (until, ends) => sleepUntil(until, ends, () => timeOf(ownStores))
    }
  })
}
