import type { ApprovalOutcome } from '../../contract/approval.ts'
import type { ApprovalAnswer } from '../../contract/run-record.ts'
import { RUN_ERR_APPROVAL_ANSWERED, RUN_ERR_APPROVAL_NOT_FOUND, RUN_ERR_STORE } from '../../errors.ts'
import { runIdOf } from '../../stores/run-cursor.ts'
import type { ApprovalPage, ApprovalQuery, FoundApproval } from '../../contract/ports/run-store.ts'
import type { Stores } from '../../contract/ports/stores.ts'
import type { LiveRun } from '../live-run.ts'
import type { LostRuns } from '../recovery/lost-runs.ts'
import { requireAnswer } from './require-answer.ts'
import { toLoggable } from '../../logging/to-loggable.ts'
import { isReported } from '../../stores/upkeep/store-watch.ts'
import type { RunLog } from '../../contract/run-log.ts'

/** What answering approvals needs of the engine. */
export interface DeskHost {
  readonly stores: Stores
  readonly log: RunLog
  /** The run, where it is in memory and not about to leave it. */
  liveRun(runId: string): LiveRun | undefined
  /** Brings a run that rests into memory; false when it is none of those here. */
  wake(runId: string): Promise<boolean>
  readonly lostRuns: Pick<LostRuns, 'isToEnd' | 'end'>
}

/** Answers the approvals of every run, wherever it is: the store takes the first answer and no other. */
export class ApprovalsDesk {
  readonly #host: DeskHost
  // Those whose time is over, which the store could not take.
  readonly #overdue = new Set<string>()

  constructor(host: DeskHost) {
    this.#host = host
  }

  async find(approvalId: string): Promise<FoundApproval | undefined> {
    return this.#host.stores.runs.findApproval(approvalId)
  }

  async list(query: ApprovalQuery): Promise<ApprovalPage> {
    return this.#host.stores.runs.listApprovals(query)
  }

  /** @throws RUN_ERR_BAD_INPUT, RUN_ERR_APPROVAL_NOT_FOUND, RUN_ERR_APPROVAL_ANSWERED, RUN_ERR_STORE */
  async answer(approvalId: string, answer: ApprovalAnswer): Promise<void> {
    if (await this.#accept(approvalId, requireAnswer(answer))) return
    if ((await this.find(approvalId)) === undefined) throw new RUN_ERR_APPROVAL_NOT_FOUND(approvalId)
    throw new RUN_ERR_APPROVAL_ANSWERED()
  }

  /** The time of an approval is over: it is denied, unless somebody was faster. */
  async expire(approvalId: string): Promise<void> {
    try {
      await this.#expire(approvalId)
    } catch (err) {
      if (isReported(err)) this.#overdue.add(approvalId)
      else this.#host.log.error({ err: toLoggable(err), approvalId }, 'an approval could not be expired')
    }
  }

  /** Does what the store refused. */
  async catchUp(): Promise<void> {
    for (const approvalId of this.#overdue) {
      await this.#expire(approvalId)
      this.#overdue.delete(approvalId)
    }
  }

  async #expire(approvalId: string): Promise<void> {
    const outcome = { approved: false, expired: true, reason: 'not answered in time' }
    if (await this.#accept(approvalId, outcome)) return
    // Whoever answered may have died before the run knew.
    const answer = (await this.find(approvalId))?.approval.answer
    if (answer) await this.handOn(approvalId, answer)
  }

  /** Gives an answer that is stored to its run; false when the run is none of those here. */
  async handOn(approvalId: string, answer: ApprovalOutcome): Promise<boolean> {
    const runId = runIdOf(approvalId)
    const run = this.#host.liveRun(runId)
    if (run === undefined) return this.#host.wake(runId)
    await run.approvalAnswered(approvalId, answer)
    if (run.loss && !run.mayGoOn) throw new RUN_ERR_STORE({ cause: run.loss })
    return true
  }

  async #accept(approvalId: string, answer: ApprovalOutcome): Promise<boolean> {
    const runId = runIdOf(approvalId)
    // Nobody waits for the answer any more: the store must know that first.
    const { lostRuns } = this.#host
    if (lostRuns.isToEnd(runId)) await lostRuns.end(runId)
    const { stores } = this.#host.liveRun(runId) ?? this.#host
    if (!(await stores.runs.answerApproval(runId, approvalId, answer))) return false
    if (!(await this.handOn(approvalId, answer)))
      await stores.control.publish({ type: 'approval', runId, approvalId, answer })
    return true
  }
}
