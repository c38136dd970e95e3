import {
  ANONYMOUS,
  type AccessDecision,
  type AccessTarget,
  type Action,
  type Principal
} from '../contract/principal.ts'
import type {
  ApprovalOutcome,
  ApprovalRequest,
  Approvals,
  RunContext,
  RunLog
} from '../contract/run-context.ts'
import type { EventBus } from '../events/event-bus.ts'
import type { Stores } from '../stores/stores.ts'
import type { StartOptions } from './run-engine.ts'

/** What a context takes from the run that it belongs to. */
export interface ContextHost {
  readonly runId: string
  readonly sessionId: string
  readonly options: StartOptions
  readonly log: RunLog
  readonly signal: AbortSignal
  readonly stores: Stores
  readonly events: EventBus
  requestApproval(request: ApprovalRequest, source: readonly string[]): Promise<ApprovalOutcome>
  step<T>(key: string, fn: () => Promise<T> | T): Promise<T>
}

const NO_SOURCE: readonly string[] = Object.freeze([])

/** The context of a run and, with a `source`, of its members and steps. */
export class HostedContext implements RunContext {
  readonly #host: ContextHost
  readonly source: readonly string[]

  constructor(host: ContextHost, source: readonly string[] = NO_SOURCE) {
    this.#host = host
    this.source = source
  }

  get runId(): string {
    return this.#host.runId
  }

  get sessionId(): string {
    return this.#host.sessionId
  }

  get newSession(): boolean {
    return this.#host.options.sessionId === undefined
  }

  get userId(): string | undefined {
    return this.#host.options.userId
  }

  get principal(): Principal {
    return this.#host.options.principal ?? ANONYMOUS
  }

  get sessionOwner(): string {
    const { sub } = this.principal
    return sub === ANONYMOUS.sub ? (this.userId ?? sub) : sub
  }

  get signal(): AbortSignal {
    return this.#host.signal
  }

  get log(): RunLog {
    return this.#host.log
  }

  get events(): EventBus {
    return this.#host.events
  }

  get stores(): Stores {
    return this.#host.stores
  }

  get idempotencyKey(): string {
    return this.#host.runId
  }

  get approvals(): Approvals {
    return { request: (request) => this.#host.requestApproval(request, this.source) }
  }

  apiKey(provider?: string): string | undefined {
    return this.#host.options.apiKey?.(provider)
  }

  async authorize(action: Action, target: AccessTarget): Promise<AccessDecision> {
    const { authorize } = this.#host.options
    return authorize === undefined ? { allowed: true } : authorize(this.principal, action, target)
  }

  step<T>(key: string, fn: () => Promise<T> | T): Promise<T> {
    // As JSON, so that no name and no key can pass for another path.
    return this.#host.step(JSON.stringify([...this.source, key]), fn)
  }

  child(name: string): RunContext {
    return new HostedContext(this.#host, [...this.source, name])
  }
}
