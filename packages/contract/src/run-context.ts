import type { Static, TSchema } from '@sinclair/typebox'
import type { EventBus } from './events.ts'
import type {
  Answer,
  Approvals,
  ClientCall,
  ClientTool,
  CredentialsOf,
  CredentialsRequest,
  Question,
  Steering
} from './inputs.ts'
import type { PartOf, RunMetadata, StepFinishReason, Usage, YieldedPart } from './part.ts'
import type { Awaitable } from './awaitable.ts'
import type { SessionMessage } from './ports/session-store.ts'
import type { Stores } from './ports/stores.ts'
import type { AccessDecision, AccessTarget, Action, Principal, ProviderKey, Redact } from './principal.ts'
import type { ToolChoice } from './run-body.ts'

/** Data that accompanied an input, as plain JSON. */
export interface Envelope {
  /** Metadata that the client sent with its message, such as A2A's. */
  readonly metadata?: Readonly<Record<string, unknown>>
  /** URIs of the active protocol extensions: those that the client named and the surface declares. */
  readonly extensions?: readonly string[]
  /** The media types that the client accepts in the answer, if it names any. */
  readonly acceptedOutputModes?: readonly string[]
  /** The ids of earlier runs to which the client refers, as far as it may read them. */
  readonly referenceTaskIds?: readonly string[]
  /** What the client's app knows beside the conversation, such as the page that its user sees: AG-UI's `context`. */
  readonly context?: readonly { readonly description: string; readonly value: string }[]
  /** The state that the client shares with the agent: AG-UI's. */
  readonly state?: unknown
}

/** What a caller gives a conversation beside its messages. */
export interface ChildCaller {
  readonly instructions?: string | undefined
  readonly tools?: readonly ClientTool[] | undefined
  readonly toolChoice?: ToolChoice | undefined
  readonly stop?: readonly string[] | undefined
  readonly compactAt?: number | undefined
}

/** An input that a run waits for. */
export interface RequestedInput {
  readonly request: PartOf<'tool.approval.request'> | PartOf<'input.request'>
  /** Resolves once it is answered over any surface, or not needed any more. */
  readonly settled: Promise<void>
}

/** Middleware as contexts pass it on; its hooks are those of `Middleware` in `@svc/runtime`. */
export interface RunMiddleware {
  readonly name: string
}

/** The middleware around a run, from the outermost in. */
export interface MiddlewareAround {
  readonly list: readonly RunMiddleware[]
  /** How many of them have checked what the run is asked, as the input of an outer runnable. */
  readonly passed: number
}

/** How a member's or step's context differs from its parent's. */
export interface ChildOptions {
  /** Distinguishes several calls of one member, in the journal and in `idempotencyKey`; default: its name. */
  key?: string | undefined
  /** Counts the attempts at one call from 1: each has a journal of its own, all have one `idempotencyKey`. Default 1. */
  attempt?: number | undefined
  /** Aborts the child; must abort when the parent's signal does. Default: the parent's signal. */
  signal?: AbortSignal | undefined
  /** A separate conversation, for children that run in parallel; default: the parent's. */
  sessionId?: string | undefined
  /** True if its parts count as the parent's own, with the parent's `source`. Default false. */
  unsourced?: boolean | undefined
  /** The runnable whose `run.*` events the caller emits; default: what runs with the context emits its own. */
  reported?: object | undefined
  /**
   * True if the child answers the caller of the run: it gets `messages`, `instructions`, `clientTools`, `toolChoice`, `stop` and `compactAt` of its parent. Default
   * false: it gets none, and of a conversation that the caller keeps an empty one.
   */
  answersCaller?: boolean | undefined
  /** Replaces what the caller of the run gave, for a child that answers the caller. Check it with `requireCaller`. */
  caller?: ChildCaller | undefined
  /** Default: the parent's, for a child that answers the caller without a `source` of its own. */
  delivery?: Delivery | undefined
  /**
   * Middleware of the parent, for the child and what it runs; it follows that of the parent's own context. Given, even if empty, it says
   * that the parent has had its input checked by all of them.
   */
  use?: readonly RunMiddleware[] | undefined
  /** Called with each input that the child, or a child of it, waits for, once it can be answered. Default: the parent's. */
  onInput?: ((input: RequestedInput) => void) | undefined
}

/** Options of a recorded step. */
export interface RecordedStepOptions {
  /**
   * True if what the step does is in the journal too, so that another process continues it: such a step does not keep the run in
   * memory, and a shutdown does not wait for it. Default false.
   */
  journaled?: boolean
}

/** The run that a runnable executes in. */
export interface RunContext {
  readonly runId: string
  /** The id of the run's registry; part of the key of its sessions and memories. */
  readonly registry: string
  readonly sessionId: string
  /** True if the session begins with this run, so it has no history to load. Always false for members and steps. */
  readonly newSession: boolean
  /** The run after whose turn this run continues its session, if its caller named one; null: at the beginning. */
  readonly afterTurn?: string | null | undefined
  readonly userId: string | undefined
  readonly principal: Principal
  /** The owner of the session: the principal's `sub`; without credentials `userId`, else `anonymous`. */
  readonly sessionOwner: string
  /** False if what the run was asked must be stored nowhere: no session, memory or task. */
  readonly recordsInput: boolean
  /** Data that accompanied the run's input; empty if its surface passes nothing on. */
  readonly envelope: Envelope
  /** Texts that the caller attached to the run, without the caller's keys; empty if there are none. */
  readonly metadata: RunMetadata
  /**
   * The conversation before the input, oldest message first, if the caller keeps it; then no session is loaded or saved. It is
   * complete: each tool call is followed by its result. If it ends with a result, `input` may be undefined.
   */
  readonly messages: readonly SessionMessage[] | undefined
  /** The caller's instructions for this run; they follow the agent's own. */
  readonly instructions: string | undefined
  /** The tools that the caller serves. */
  readonly clientTools: readonly ClientTool[]
  /** What the caller says of tool calls; default: as the runnable decides. */
  readonly toolChoice?: ToolChoice | undefined
  /** Texts that end an answer, for the caller. */
  readonly stop?: readonly string[] | undefined
  /** Tokens of a prompt over which the caller wants it compacted; it lowers the threshold of the runnable only. */
  readonly compactAt?: number | undefined
  /** True if the run has no input: it compacts the history of its session, and ends. Default false. */
  readonly compacts?: boolean
  /** The messages that join the run, for a runnable that is `steerable`; undefined for members and steps. */
  readonly steering?: Steering | undefined
  /** The middleware of the app, and of the teams and workflows that the run is a part of; undefined if there is none. */
  readonly use?: MiddlewareAround | undefined
  /** How the answer is delivered, if that takes longer than to generate it. */
  readonly delivery?: Delivery | undefined
  /**
   * Aborts when the run is canceled, fails or is suspended; not when it ends well, so that what a runnable holds is released in the
   * `finally` of its stream.
   */
  readonly signal: AbortSignal
  /**
   * Calls back with the reason when `signal` aborts, at once if it has, unless the returned function is called before. Cheaper than
   * a listener of the signal, which is only created for those who read it.
   */
  onAbort(listener: (reason: unknown) => void): () => void
  readonly log: RunLog
  readonly events: EventBus
  /** The runnable whose `run.*` events the engine, a team or a workflow emits. Any other runnable emits its own. */
  readonly reported: object | undefined
  readonly approvals: Approvals
  readonly stores: Stores
  /** The path of member or step names of this context; empty for the run itself. */
  readonly source: readonly string[]
  /** The same in every attempt of this run, member or step; pass it to services that must not act twice. */
  readonly idempotencyKey: string
  /** The journal of a resumable run; undefined if no other process could resume it. */
  readonly journal?: Journal | undefined
  /**
   * The caller's own key for a model provider, if the request carried one; call `reveal()` only where the provider is called.
   * Never persisted.
   */
  apiKey(provider?: string): ProviderKey | undefined
  /**
   * Removes the caller's keys from values that leave the run by other ways. Parts, log lines, the error, and everything stored
   * through this context are redacted by the engine.
   */
  readonly redact: Redact
  /** Asks the app's policy about the principal of this run. Without a policy everything is allowed. */
  authorize(action: Action, target: AccessTarget): Promise<AccessDecision>
  /**
   * The journal: runs `fn` once per run and key, and afterwards returns the recorded value, in which the caller's keys are
   * redacted.
   */
  step<T>(key: string, fn: () => Promise<T> | T, options?: RecordedStepOptions): Promise<T>
  /**
   * The time, in milliseconds since the epoch, on which all processes that may execute the run agree: that of the stores if several
   * share them.
   */
  now(): number
  /**
   * Waits until a time, as `now` counts it. Like a durable approval, the wait survives a restart if the time was
   * recorded by a step.
   * @param signal aborts the wait; default: the context's
   * @throws the signal's reason if it aborts first
   */
  sleep(until: number, signal?: AbortSignal): Promise<void>
  /**
   * Asks the caller of the run, who answers over any surface, and waits; the run is `input-required` meanwhile. An answer whose
   * content does not fit the schema is refused. Without an answer in time the action is `cancel`. A resumed run that asks the same
   * again gets the earlier answer.
   * @throws RUN_ERR_BAD_QUESTION, or the reason of the run's signal if the run ends first
   */
  ask<S extends TSchema = TSchema>(question: Question<S>): Promise<Answer<Static<S>>>
  /**
   * Has a tool executed that the caller of the run serves, and waits, as `ask` does. The content is the tool's result; it is in no
   * part, so that the `tool.result` is the only one that has it.
   * @throws RUN_ERR_BAD_QUESTION, or the reason of the run's signal if the run ends first
   */
  callClient(call: ClientCall): Promise<Answer>
  /**
   * Asks the owner of the run for credentials, such as a token for another service, and waits, as `ask` does. They are in no part, no
   * store and no event: only the returned answer has them. A resumed run that asks the same again gets an earlier answer unless that
   * had credentials, which are lost then: it asks again.
   * @throws RUN_ERR_BAD_QUESTION, or the reason of the run's signal if the run ends first
   */
  requestCredentials<S extends TSchema = TSchema>(request: CredentialsRequest<S>): Promise<CredentialsOf<S>>
  /** Milliseconds that the run has waited for answers in this process, with pending waits so far: time-outs do not count them. */
  readonly waitedMs: number
  /** The context of a member or step: same run, same session by default, a longer `source`. */
  child(name: string, options?: ChildOptions): RunContext
}

/** The beginning of a text that was delivered. */
export interface Delivered {
  readonly text: string
  /** True if this text, or one before it, was not delivered to its end. */
  readonly interrupted: boolean
}

/**
 * How the answer of a run or child is delivered where that takes longer than to generate it: as speech. The answer is conversation only
 * as far as it was delivered; the session keeps no more.
 */
export interface Delivery {
  /** Aborts when the user interrupts the answer. Running tools still finish; the model is not called again. */
  readonly interrupted: AbortSignal
  /**
   * Takes the text of each step once it is generated, in order; together they are the `text` parts so far. Resolves once the text is
   * delivered, or with its beginning as soon as the answer is interrupted or the signal of the context aborts.
   * @param options `last`: the answer is complete; the text may be empty
   */
  settle(text: string, options: { readonly last: boolean }): Awaitable<Delivered>
}

/** A part with a recorded value. */
export interface RecordedPart<P extends YieldedPart> {
  /** The part to yield, or a copy of it made by spreading. */
  readonly part: P
  /**
   * Resolves when the value is in the store. Call it after the part was taken: a value whose part never reached the engine, because
   * a runnable in between dropped it, is stored by itself.
   */
  stored(): Awaitable<void>
}

/** The last answer of a run's own model that its log has complete, if nothing but text and reasoning is in it. */
export interface EarlierAnswer {
  readonly text: string
  readonly usage?: Usage | undefined
  readonly finishReason: StepFinishReason
  /** True if the structured answer follows. */
  readonly isStructured: boolean
}

/** What a call waited for, according to the log of an earlier process: for nothing, for an answer, or no longer. */
export type EarlierWait = 'none' | 'waiting' | 'answered'

/**
 * The journal of a resumable run, as one of its contexts sees it: values that are stored in the transactions of the parts they belong
 * to, so that another process finds both or neither. Keys are separate for each context.
 */
export interface Journal {
  /** The value that an earlier process recorded; undefined if there is none. */
  recall(key: string): Awaitable<{ readonly output: unknown } | undefined>
  /** Records a value, as JSON, together with a part. The first value of a key counts. */
  record<P extends YieldedPart>(part: P, key: string, value: unknown): RecordedPart<P>
  /**
   * Marks a part that the log of an earlier process has. A collector of the runnable's parts takes it like any other, and the
   * engine does not write it again.
   */
  replay<P extends YieldedPart>(part: P): P
  /**
   * The number of the last attempt at a step that an earlier process began and did not end; 0 if there is none. Each such attempt is
   * returned once, so that it is replaced once: several calls of one member may have been in progress.
   */
  takeAttempt(index: number): number
  /** The answer of a step that ended the run's own loop, but not yet the run; undefined for members and steps. */
  earlierAnswer(index: number): EarlierAnswer | undefined
  /** What a tool call of this context waited for in an earlier process: for approvals and inputs, those of nested calls included. */
  earlierWait(toolCallId: string): EarlierWait
  /** True if the log of an earlier process has this tool call. */
  hasCall(toolCallId: string): boolean
  /** True if the log of an earlier process has parts of this context, or of members or steps within. */
  readonly begun: boolean
  /**
   * Marks the beginning of work that waits for no one; the returned function marks its end. A run without such work may leave memory
   * while it waits, and is left for another process when the service shuts down.
   */
  work(): () => void
  /** Resolves when the parts that were yielded so far are in the store; never if they cannot be stored, which ends the run. */
  written(): Awaitable<void>
  /** Resolves at once, or never if the run is about to be left for another process; then its signal ends the wait. */
  mayContinue(): Awaitable<void>
}

/** The part of a logger that runs use; Fastify's and pino's loggers fit. */
export interface RunLog {
  debug(details: object, message?: string): void
  info(details: object, message?: string): void
  warn(details: object, message?: string): void
  error(details: object, message?: string): void
}

const drop = () => {}

/** A log that drops everything. */
export const SILENT_LOG: RunLog = Object.freeze({
  debug: drop,
  info: drop,
  warn: drop,
  error: drop
})
