import { redactStores } from '../access/redact-stores.ts'
import { GLOBAL_REGISTRY } from '../contract/names.ts'
import type { RunContext } from '../contract/run-context.ts'
import { createEventBus } from '../events/create-event-bus.ts'
import { randomId } from '../random-id.ts'
import { createInProcessStores } from '../stores/in-process/in-process-stores.ts'
import type { Stores } from '../contract/ports/stores.ts'
import { sleepUntil } from '../timers.ts'
import { HostedContext } from './hosted-context.ts'
import type { StartOptions } from './start-options.ts'
import { SILENT_LOG } from '../contract/run-log.ts'
import type { EventBus } from '../contract/event-bus.ts'

/** What a run outside an engine may be given. */
export interface ContextOptions extends StartOptions {
  runId?: string
  /** Ends the run from outside. */
  signal?: AbortSignal
  stores?: Stores
  events?: EventBus
}

/** The bus of everything that runs outside an engine. */
export const defaultEvents: EventBus = createEventBus()

let defaultStores: Stores | undefined

/**
 * A context for running a runnable without an engine, in a script or a test: sessions are kept in memory, approvals are
 * denied because nobody could answer them, and steps are not journaled.
 */
export function createContext(options: ContextOptions = {}): RunContext {
  return new HostedContext({
    runId: options.runId ?? randomId(),
    record: { registry: options.registry ?? GLOBAL_REGISTRY },
    sessionId: options.sessionId ?? randomId(),
    options,
    resumed: false,
    log: options.log ?? SILENT_LOG,
    signal: options.signal ?? new AbortController().signal,
    stores: redactStores(options.stores ?? (defaultStores ??= createInProcessStores()), options.redact),
    events: options.events ?? defaultEvents,
    requestApproval: async () => ({ approved: false, reason: 'nobody can answer: the run has no engine' }),
    step: async (_key, fn) => fn(),
    sleep: sleepUntil
  })
}
