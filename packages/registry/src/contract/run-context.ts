import type { Approvals } from './approval.ts'
import type { EventBus } from './event-bus.ts'
import type { Stores } from './ports/stores.ts'
import type { ProviderKey, Redact } from './provider-key.ts'
import type { RunLog } from './run-log.ts'
import type { Action, AccessDecision, AccessTarget, Principal } from './principal.ts'

/** What came around an input, as plain JSON. */
export interface Envelope {
  /** What the client said of its message, such as the metadata of A2A. */
  readonly metadata?: Readonly<Record<string, unknown>>
  /** URIs of the extensions of the entrance's protocol that are in use: the client named them, and the entrance declares them. */
  readonly extensions?: readonly string[]
}

/** How a member's or step's context differs from its parent's. */
export interface ChildOptions {
  /** Tells several calls of one member apart, in the journal and in `idempotencyKey`; default: its name. */
  key?: string | undefined
  /** Ends the child; it must abort when the parent's signal does, which is the default. */
  signal?: AbortSignal | undefined
  /** A conversation of its own, for what runs at the same time as its like; default: the parent's. */
  sessionId?: string | undefined
  /** Whether its parts are the parent's own: `source` stays as it is. Default false. */
  unsourced?: boolean | undefined
  /** The runnable whose `run.*` events the caller emits; default: what runs with the context emits its own. */
  reported?: object | undefined
}

/** What a runnable is told of the run that it is part of. */
export interface RunContext {
  readonly runId: string
  /** The id of the registry that the run belongs to: part of the key of its sessions and memories. */
  readonly registry: string
  readonly sessionId: string
  /** Whether the session begins here: there is nothing to load. Never known of a member or step. */
  readonly newSession: boolean
  readonly userId: string | undefined
  readonly principal: Principal
  /** Whose session it is: the principal's `sub`, without credentials `userId`, else `anonymous`. */
  readonly sessionOwner: string
  /** What came around the run's input; empty where its entrance passes nothing on. */
  readonly envelope: Envelope
  /** Aborts when the run is canceled or ends otherwise. */
  readonly signal: AbortSignal
  readonly log: RunLog
  readonly events: EventBus
  /** The runnable whose `run.*` events are emitted for it: by the engine, a team or a workflow. Any other emits its own. */
  readonly reported: object | undefined
  readonly approvals: Approvals
  readonly stores: Stores
  /** Path of names of the member or step that this context belongs to; empty for the run itself. */
  readonly source: readonly string[]
  /** The same over every attempt of this run, member or step: hand it to what must not happen twice. */
  readonly idempotencyKey: string
  /**
   * The caller's own key for a model provider, if one came with the request: `reveal()` gives it, where the provider is called.
   * Never persisted.
   */
  apiKey(provider?: string): ProviderKey | undefined
  /**
   * Takes the caller's keys out of what is told in JSON. What a run yields, logs and stores through this context, and its
   * error, need no care.
   */
  readonly redact: Redact
  /** Asks the app's policy, for the principal of this run. Without a policy everything is allowed. */
  authorize(action: Action, target: AccessTarget): Promise<AccessDecision>
  /**
   * The journal: runs `fn` once per run and key; a step that is recorded gives its recorded value, in which the caller's keys
   * are redacted.
   */
  step<T>(key: string, fn: () => Promise<T> | T): Promise<T>
  /**
   * Waits until a time, in milliseconds since the epoch. Like a durable approval, the wait needs no memory: hand in a time
   * that a step recorded.
   * @param signal ends the wait; default: the context's
   * @throws the signal's reason when it aborts first
   */
  sleep(until: number, signal?: AbortSignal): Promise<void>
  /** The context of a member or step: same run, same session by default, a longer `source`. */
  child(name: string, options?: ChildOptions): RunContext
}
