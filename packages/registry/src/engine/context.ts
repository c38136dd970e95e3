import type { Static, TSchema } from '@sinclair/typebox'
import {
  ANONYMOUS,
  asItIs,
  GLOBAL_REGISTRY,
  newRunId,
  NO_METADATA,
  ProviderKey,
  randomId,
  SILENT_LOG,
  sleepUntil,
  timeOf,
  toApprovalOutcome,
  type AccessDecision,
  type AccessTarget,
  type Action,
  type Answer,
  type Approvals,
  type ChildCaller,
  type ChildOptions,
  type ClientCall,
  type ClientTool,
  type CredentialsOf,
  type CredentialsRequest,
  type Delivery,
  type Envelope,
  type EventBus,
  type InputOutcome,
  type Journal,
  type MiddlewareAround,
  type Principal,
  type Question,
  type RecordedStepOptions,
  type Redact,
  type RunContext,
  type RunLog,
  type RunMetadata,
  type RunMiddleware,
  type SessionMessage,
  type Steering,
  type StoredRun,
  type Stores
} from '@svc/contract'
import { sessionOwnerOf } from '../turns/run-turn.ts'
import type { StartOptions } from './start-options.ts'
import { ContextJournal, keyOf, type RunJournal } from './journal/step-journal.ts'
import {
  fromApproval,
  fromClientCall,
  fromCredentialsRequest,
  fromQuestion,
  toAnswer,
  toCredentialsAnswer,
  type AskedInput,
  type Asker
} from './inputs/asked-input.ts'
import { redactStores } from './run-stores.ts'
import { createEventBus } from '../events/event-bus.ts'
import { createInProcessStores } from '../stores/in-process/in-process-stores.ts'

/** The parts of a run that its contexts need. */
export interface ContextHost {
  readonly runId: string
  readonly record: Pick<StoredRun, 'registry' | 'metadata'>
  readonly sessionId: string
  readonly options: StartOptions
  readonly log: RunLog
  readonly lateSignal: Pick<RunContext, 'signal' | 'onAbort'>
  /** As in `RunContext.stores`. */
  readonly ownStores: Stores
  readonly events: EventBus
  /** As in `RunContext`. */
  readonly recordsInput: boolean
  /** True if an earlier process has executed the run. */
  readonly resumed: boolean
  /** The executed runnable, if an engine executes it and emits its `run.*` events. */
  readonly runnable?: object
  /** Waits for an input. */
  ask(asked: AskedInput, asker: Asker): Promise<InputOutcome>
  step<T>(key: string, fn: () => Promise<T> | T, options?: RecordedStepOptions): Promise<T>
  /** Times as in `RunContext`. */
  readonly waitedMs: number
  sleep(until: number, signal: AbortSignal): Promise<void>
  /** Undefined if no message may join the run. */
  readonly inbox?: Steering | undefined
  /** Undefined if no other process can resume the run. */
  readonly journal?: RunJournal | undefined
  /** The middleware of the app; undefined if there is none. */
  readonly use?: MiddlewareAround | undefined
}

const NOWHERE: readonly string[] = Object.freeze([])
const NOTHING: Envelope = Object.freeze({})
const NO_MESSAGES: readonly SessionMessage[] = Object.freeze([])
const NO_TOOLS: readonly ClientTool[] = Object.freeze([])

/** How the context of a member or a step differs from that of its run. */
interface Place {
  readonly source: readonly string[]
  /** Unlike `source`, unique per member call. */
  readonly path: readonly string[]
  /** As `path`, but unique per attempt at a call. */
  readonly journalPath: readonly string[]
  readonly signal?: AbortSignal | undefined
  readonly sessionId?: string | undefined
  readonly reported?: object | undefined
  readonly answersCaller: boolean
  /** Undefined: the caller of the run. */
  readonly caller?: ChildCaller | undefined
  readonly delivery?: Delivery | undefined
  readonly onInput?: ChildOptions['onInput']
  /** Undefined: that of the app. */
  readonly use?: MiddlewareAround | undefined
}

const ROOT: Place = { source: NOWHERE, path: NOWHERE, journalPath: NOWHERE, answersCaller: true }

/** The context of a run and, at another place, of its members and steps. */
export class HostedContext implements RunContext {
  readonly #host: ContextHost
  readonly #place: Place
  readonly sessionId: string
  readonly reported: object | undefined

  constructor(host: ContextHost, place: Place = ROOT) {
    this.#host = host
    this.#place = place
    this.sessionId = place.sessionId ?? host.sessionId
    this.reported = place === ROOT ? host.runnable : place.reported
  }

  get source(): readonly string[] {
    return this.#place.source
  }

  get runId(): string {
    return this.#host.runId
  }

  get registry(): string {
    return this.#host.record.registry
  }

  get newSession(): boolean {
    return this.#host.options.sessionId === undefined && this.#place.path.length === 0 && !this.#host.resumed
  }

  get afterTurn(): string | null | undefined {
    return this.#host.options.afterTurn
  }

  get userId(): string | undefined {
    return this.#host.options.userId
  }

  get principal(): Principal {
    return this.#host.options.principal ?? ANONYMOUS
  }

  get sessionOwner(): string {
    return sessionOwnerOf(this.#host.options)
  }

  get recordsInput(): boolean {
    return this.#host.recordsInput
  }

  get envelope(): Envelope {
    return this.#host.options.envelope ?? NOTHING
  }

  get metadata(): RunMetadata {
    return this.#host.record.metadata ?? NO_METADATA
  }

  get messages(): readonly SessionMessage[] | undefined {
    const { messages } = this.#host.options
    return messages === undefined || this.#place.answersCaller ? messages : NO_MESSAGES
  }

  get instructions(): string | undefined {
    return this.#caller?.instructions
  }

  get clientTools(): readonly ClientTool[] {
    return this.#caller?.tools ?? NO_TOOLS
  }

  get toolChoice(): RunContext['toolChoice'] {
    return this.#caller?.toolChoice
  }

  get stop(): readonly string[] | undefined {
    return this.#caller?.stop
  }

  get compactAt(): number | undefined {
    return this.#caller?.compactAt
  }

  get #caller(): ChildCaller | undefined {
    const { answersCaller, caller = this.#host.options } = this.#place
    return answersCaller ? caller : undefined
  }

  get compacts(): boolean {
    return this.#place === ROOT && this.#host.options.compact === true
  }

  get steering(): Steering | undefined {
    return this.#place === ROOT ? this.#host.inbox : undefined
  }

  get use(): MiddlewareAround | undefined {
    return this.#place.use ?? this.#host.use
  }

  get delivery(): Delivery | undefined {
    return this.#place.delivery
  }

  get signal(): AbortSignal {
    return this.#place.signal ?? this.#host.lateSignal.signal
  }

  onAbort(listener: (reason: unknown) => void): () => void {
    const { signal } = this.#place
    if (signal !== undefined) return listenTo(signal, listener)
    return this.#host.lateSignal.onAbort(listener)
  }

  get log(): RunLog {
    return this.#host.log
  }

  get events(): EventBus {
    return this.#host.events
  }

  get stores(): Stores {
    return this.#host.ownStores
  }

  get idempotencyKey(): string {
    const { path } = this.#place
    return path.length === 0 ? this.#host.runId : [this.#host.runId, ...path].join('/')
  }

  get journal(): Journal | undefined {
    const { journal } = this.#host
    return journal && new ContextJournal(journal, this.#place.journalPath, this.source)
  }

  get waitedMs(): number {
    return this.#host.waitedMs
  }

  get approvals(): Approvals {
    return { request: (request) => this.#wait(() => fromApproval(request), toApprovalOutcome) }
  }

  ask<S extends TSchema>(question: Question<S>): Promise<Answer<Static<S>>> {
    return this.#wait(() => fromQuestion(question), toAnswer) as Promise<Answer<Static<S>>>
  }

  callClient(call: ClientCall): Promise<Answer> {
    return this.#wait(() => fromClientCall(call), toAnswer)
  }

  requestCredentials<S extends TSchema>(request: CredentialsRequest<S>): Promise<CredentialsOf<S>> {
    return this.#wait(() => fromCredentialsRequest(request), toCredentialsAnswer)
  }

  #wait<T>(asked: () => AskedInput, read: (outcome: InputOutcome) => T): Promise<T> {
    const { source, path, signal, onInput } = this.#place
    const answer = (async () => read(await this.#host.ask(asked(), { source, path, signal, onInput })))()
    // It may be awaited later, or not at all; until then a rejection is not unhandled.
    answer.catch(() => {})
    return answer
  }

  apiKey(provider?: string): ProviderKey | undefined {
    const key = this.#host.options.apiKey?.(provider)
    return typeof key === 'string' ? new ProviderKey(key) : key
  }

  get redact(): Redact {
    return this.#host.options.redact ?? asItIs
  }

  async authorize(action: Action, target: AccessTarget): Promise<AccessDecision> {
    const { authorize } = this.#host.options
    return authorize === undefined ? { allowed: true } : authorize(this.principal, action, target)
  }

  step<T>(key: string, fn: () => Promise<T> | T, options?: RecordedStepOptions): Promise<T> {
    return this.#host.step(keyOf(this.#place.path, key), fn, options)
  }

  now(): number {
    return timeOf(this.#host.ownStores)
  }

  sleep(until: number, signal = this.signal): Promise<void> {
    return this.#host.sleep(until, signal)
  }

  child(name: string, options: ChildOptions = {}): RunContext {
    const place = this.#place
    const { key = name, attempt = 1, signal = place.signal, sessionId = this.sessionId } = options
    const answersCaller = place.answersCaller && options.answersCaller === true
    return new HostedContext(this.#host, {
      source: options.unsourced ? place.source : [...place.source, name],
      path: [...place.path, key],
      journalPath: [...place.journalPath, attempt === 1 ? key : `${key}@${attempt}`],
      signal,
      sessionId,
      reported: options.reported,
      answersCaller,
      caller: options.caller ?? place.caller,
      delivery: options.delivery ?? (answersCaller && options.unsourced ? place.delivery : undefined),
      onInput: options.onInput ?? place.onInput,
      use: options.use === undefined ? this.use : addUse(this.use, options.use)
    })
  }
}

function addUse(
  around: MiddlewareAround | undefined,
  own: readonly RunMiddleware[]
): MiddlewareAround | undefined {
  if (own.length === 0 && around === undefined) return undefined
  const list = around === undefined ? own : [...around.list, ...own]
  return { list, passed: list.length }
}

/** Calls back when a signal aborts, as `RunContext.onAbort`. */
function listenTo(signal: AbortSignal, listener: (reason: unknown) => void): () => void {
  const onAbort = () => listener(signal.reason)
  if (signal.aborted) onAbort()
  else signal.addEventListener('abort', onAbort, { once: true })
  return () => signal.removeEventListener('abort', onAbort)
}

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
    waitedMs: 0,
    sleep: (until, ends) => sleepUntil(until, ends, () => timeOf(ownStores))
  })
}
