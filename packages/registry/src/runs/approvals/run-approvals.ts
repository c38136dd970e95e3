import { isDeepStrictEqual } from 'node:util'
import type { ApprovalOutcome, ApprovalRequest } from '../../contract/approval.ts'
import type { Part } from '../../contract/part.ts'
import type { RunStatus } from '../../contract/run-record.ts'
import type { RunChange, StoredApproval } from '../../contract/ports/run-store.ts'
import { MAX_TIMER } from '../../timers.ts'

/** The default timeout of an approval, in milliseconds. */
const DEFAULT_TIMEOUT = 300_000

interface Waiting extends PromiseWithResolvers<ApprovalOutcome> {
  approval: StoredApproval
  timer: NodeJS.Timeout
  /** As in `ApprovalRequest`. */
  durable: boolean
}

/** The parts of a run that its approvals need. */
export interface ApprovalHost {
  readonly runId: string
  write(part: Part, change: RunChange): void
  /** Denies an approval whose time is over, unless it was answered in the meantime. */
  expire(approvalId: string): unknown
}

/** The pending approvals of one run; the run is `input-required` while there is one. */
export class RunApprovals {
  readonly #host: ApprovalHost
  readonly #waiting = new Map<string, Waiting>()
  // Requested before a restart, and not again since.
  readonly #earlier = new Map<string, Promise<ApprovalOutcome>>()
  readonly #stored: readonly StoredApproval[]
  #count: number

  constructor(host: ApprovalHost, stored: readonly StoredApproval[] = []) {
    this.#host = host
    this.#stored = stored
    this.#count = stored.length
  }

  /** Restores the approvals of an earlier process; `answered` are those whose answer is in the log. */
  resume(answered: ReadonlySet<string>): void {
    for (const approval of this.#stored) {
      const { approvalId, answer } = approval
      const { promise } = this.#wait(approval)
      this.#earlier.set(approvalId, promise)
      if (answer === null) continue
      if (answered.has(approvalId)) this.#settle(approvalId)?.resolve(answer)
    }
    for (const { approvalId, answer } of this.#stored)
      if (answer !== null && !answered.has(approvalId)) this.answered(approvalId, answer)
  }

  /** Writes the request and waits for its answer. A request that a restart interrupted is not written again. */
  request(
    request: ApprovalRequest,
    source: readonly string[],
    signal?: AbortSignal
  ): Promise<ApprovalOutcome> {
    const earlier = this.#takeEarlier(request, source)
    if (earlier !== undefined) return earlier
    const { toolCallId, toolName, args, durable = false } = request
    const approvalId = `${this.#host.runId}.${++this.#count}`
    const expiresAt = Date.now() + Math.min(request.timeout ?? DEFAULT_TIMEOUT, MAX_TIMER)
    const approval = { approvalId, toolCallId, toolName, args, source, expiresAt, answer: null }
    const { promise } = this.#wait(approval, durable)
    // The requester ended before the run did, so the answer is not needed.
    const withdraw = () => this.#waiting.has(approvalId) && this.#host.expire(approvalId)
    signal?.addEventListener('abort', withdraw, { once: true })
    void promise.then(
      () => signal?.removeEventListener('abort', withdraw),
      () => {}
    )
    try {
      this.#host.write(
        {
          type: 'tool.approval.request',
          approvalId,
          toolCallId,
          toolName,
          args,
          expiresAt: new Date(expiresAt).toISOString(),
          ...sourceOf(source)
        },
        { status: 'input-required', at: Date.now(), approval }
      )
    } catch (err) {
      this.#settle(approvalId)?.reject(err)
    }
    return promise
  }

  /**
   * Delivers an answer that the store has accepted to its requester.
   * @throws RUN_ERR_LOG_LIMIT if it does not fit into the log
   */
  answered(approvalId: string, outcome: ApprovalOutcome): void {
    const waiting = this.#waiting.get(approvalId)
    if (waiting === undefined) return
    const status: RunStatus = this.#waiting.size === 1 ? 'working' : 'input-required'
    const { approved, reason, args } = outcome
    this.#host.write(
      {
        type: 'tool.approval.response',
        approvalId,
        toolCallId: waiting.approval.toolCallId,
        approved,
        ...(reason !== undefined && { reason }),
        ...(args !== undefined && { args }),
        ...sourceOf(waiting.approval.source)
      },
      { status, at: Date.now() }
    )
    this.#settle(approvalId)?.resolve(outcome)
  }

  /** When the first wait ends, or Infinity; undefined while one of them keeps the run in memory. */
  get dormantUntil(): number | undefined {
    const waiting = [...this.#waiting.values()]
    if (!waiting.every(({ durable }) => durable)) return undefined
    return Math.min(...waiting.map(({ approval }) => approval.expiresAt))
  }

  /** Rejects all waits, since the run has ended. */
  abandon(reason: unknown): void {
    for (const approvalId of [...this.#waiting.keys()]) this.#settle(approvalId)?.reject(reason)
  }

  #wait(approval: StoredApproval, durable = false): Waiting {
    const { approvalId, expiresAt } = approval
    const deferred = Promise.withResolvers<ApprovalOutcome>()
    // The requester may await the answer later; until then a rejection is not unhandled.
    deferred.promise.catch(() => {})
    const left = Math.min(Math.max(0, expiresAt - Date.now()), MAX_TIMER)
    const timer = setTimeout(() => this.#host.expire(approvalId), left).unref()
    const waiting = { ...deferred, approval, timer, durable }
    this.#waiting.set(approvalId, waiting)
    return waiting
  }

  #settle(approvalId: string): Waiting | undefined {
    const waiting = this.#waiting.get(approvalId)
    this.#waiting.delete(approvalId)
    clearTimeout(waiting?.timer)
    return waiting
  }

  // An earlier approval matches only the very same request.
  #takeEarlier(request: ApprovalRequest, source: readonly string[]): Promise<ApprovalOutcome> | undefined {
    if (this.#earlier.size === 0) return undefined
    const asked = [request.toolCallId, request.toolName, jsonOf(request.args), source]
    const found = this.#stored.find(
      ({ approvalId, toolCallId, toolName, args, source: from }) =>
        this.#earlier.has(approvalId) && isDeepStrictEqual([toolCallId, toolName, args, from], asked)
    )
    if (found === undefined) return undefined
    const outcome = this.#earlier.get(found.approvalId)
    this.#earlier.delete(found.approvalId)
    const waiting = this.#waiting.get(found.approvalId)
    if (waiting !== undefined) waiting.durable = request.durable ?? false
    return outcome
  }
}

function jsonOf(value: unknown): unknown {
  const json = JSON.stringify(value)
  return json === undefined ? undefined : JSON.parse(json)
}

function sourceOf(source: readonly string[]): { source?: string[] } {
  return source.length === 0 ? {} : { source: [...source] }
}
