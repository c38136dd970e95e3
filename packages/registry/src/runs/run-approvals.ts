import type { ApprovalOutcome, ApprovalRequest } from '../contract/run-context.ts'
import type { Part } from '../contract/part.ts'
import type { RunStatus } from '../contract/run-record.ts'
import type { RunChange, StoredApproval } from '../stores/run-store.ts'

const DEFAULT_TIMEOUT = 300_000
// What a timer of Node takes; a longer one would fire at once.
const MAX_TIMEOUT = 2_147_483_647

interface Waiting {
  approval: StoredApproval
  timer: NodeJS.Timeout
  resolve(outcome: ApprovalOutcome): void
  reject(reason: unknown): void
}

/** What the approvals of a run need of it. */
export interface ApprovalHost {
  readonly runId: string
  write(part: Part, change: RunChange): void
  /** The time of an approval is over: answer it as denied, unless someone was faster. */
  expire(approvalId: string): void
}

/** The approvals that one run waits for; the run is `input-required` while there is one. */
export class RunApprovals {
  readonly #host: ApprovalHost
  readonly #waiting = new Map<string, Waiting>()
  #count = 0

  constructor(host: ApprovalHost) {
    this.#host = host
  }

  /** Writes the request and waits for its answer. */
  request(request: ApprovalRequest, source: readonly string[]): Promise<ApprovalOutcome> {
    const { toolCallId, toolName, args } = request
    const timeout = Math.min(request.timeout ?? DEFAULT_TIMEOUT, MAX_TIMEOUT)
    const approvalId = `${this.#host.runId}.${++this.#count}`
    const expiresAt = Date.now() + timeout
    const approval: StoredApproval = {
      approvalId,
      toolCallId,
      toolName,
      args,
      source,
      expiresAt,
      answer: null
    }
    const { promise, resolve, reject } = Promise.withResolvers<ApprovalOutcome>()
    // Who asks may look at the answer later: that the run has ended meanwhile is no fault of the process.
    promise.catch(() => {})
    const timer = setTimeout(() => this.#host.expire(approvalId), timeout).unref()
    this.#waiting.set(approvalId, { approval, timer, resolve, reject })
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
      this.#waiting.delete(approvalId)
      clearTimeout(timer)
      reject(err)
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
    this.#waiting.delete(approvalId)
    clearTimeout(waiting.timer)
    waiting.resolve(outcome)
  }

  /** The run has ended: nobody waits any longer. */
  abandon(reason: unknown): void {
    for (const { timer, reject } of this.#waiting.values()) {
      clearTimeout(timer)
      reject(reason)
    }
    this.#waiting.clear()
  }
}

function sourceOf(source: readonly string[]): { source?: string[] } {
  return source.length === 0 ? {} : { source: [...source] }
}
