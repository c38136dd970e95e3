import { isDeepStrictEqual } from 'node:util'
import type { ApprovalOutcome, ApprovalRequest } from '../../contract/approval.ts'
import type { Part } from '../../contract/part.ts'
import type { RunStatus } from '../../contract/run-record.ts'
import type { RunChange, StoredApproval } from '../../contract/ports/run-store.ts'
import { MAX_TIMER } from '../../timers.ts'

/** Milliseconds that an approval waits when nobody says how long. */
const DEFAULT_TIMEOUT = 300_000

interface Waiting extends PromiseWithResolvers<ApprovalOutcome> {
  approval: StoredApproval
  timer: NodeJS.Timeout
  /** Whether whoever asked asks again when the run is begun anew. */
  durable: boolean
}

/** What the approvals of a run need of it. */
export interface ApprovalHost {
  readonly runId: string
  write(part: Part, change: RunChange): void
  /** The time of an approval is over: answer it as denied, unless someone was faster. */
  expire(approvalId: string): unknown
}

/** The approvals that one run waits for; the run is `input-required` while there is one. */
export class RunApprovals {
  readonly #host: ApprovalHost
  readonly #waiting = new Map<string, Waiting>()
  // Those that were asked for before a restart and not again yet.
  readonly #earlier = new Map<string, Promise<ApprovalOutcome>>()
  readonly #stored: readonly StoredApproval[]
  #count: number

  constructor(host: ApprovalHost, stored: readonly StoredApproval[] = []) {
    this.#host = host
    this.#stored = stored
    this.#count = stored.length
  }

  /** Takes up what waited before a restart; `told` are the approvals whose answer is in the log. */
  resume(told: ReadonlySet<string>): void {
    for (const approval of this.#stored) {
      const { approvalId, answer } = approval
      const { promise } = this.#wait(approval)
      this.#earlier.set(approvalId, promise)
      if (answer === null) continue
      if (told.has(approvalId)) this.#settle(approvalId)?.resolve(answer)
    }
    for (const { approvalId, answer } of this.#stored)
      if (answer !== null && !told.has(approvalId)) this.answered(approvalId, answer)
  }

  /** Writes the request and waits for its answer. One that a restart interrupted is not asked for again. */
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
    // Whoever asked is gone before the run is: nobody needs an answer any more.
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
   * Hands an answer, which the store has accepted as the first, to whoever waits for it.
   * @throws RUN_ERR_LOG_LIMIT when it does not fit into the log
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

  /** When the first wait ends, Infinity without any; undefined while one of them needs the run in memory. */
  get dormantUntil(): number | undefined {
    const waiting = [...this.#waiting.values()]
    if (!waiting.every(({ durable }) => durable)) return undefined
    return Math.min(...waiting.map(({ approval }) => approval.expiresAt))
  }

  /** The run has ended: nobody waits any longer. */
  abandon(reason: unknown): void {
    for (const approvalId of [...this.#waiting.keys()]) this.#settle(approvalId)?.reject(reason)
  }

  #wait(approval: StoredApproval, durable = false): Waiting {
    const { approvalId, expiresAt } = approval
    const deferred = Promise.withResolvers<ApprovalOutcome>()
    // Who asks may look at the answer later: that the run has ended meanwhile is no fault of the process.
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

  // An approval is bound to what it was asked for.
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
