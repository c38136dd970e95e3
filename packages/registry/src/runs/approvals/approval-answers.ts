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

/** The parts of the engine that answering approvals needs. */
export interface AnswerHost {
  readonly stores: Stores
  readonly log: RunLog
  /** The run if it is in memory and not about to leave it. */
  answerable(runId: string): LiveRun | undefined
  /** Loads a dormant run; false if it is not one of this process. */
  wake(runId: string): Promise<boolean>
  readonly lostRuns: Pick<LostRuns, 'isToEnd' | 'end'>
}

/** Answers the approvals of every run, wherever it is executed; the store accepts only the first answer. */
export class ApprovalAnswers {
  readonly #host: AnswerHost
  // Expired approvals that the store could not record.
  readonly #overdue = new Set<string>()

  constructor(host: AnswerHost) {
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

  /** Denies an approval whose time is over, unless it was answered in the meantime. */
  async expire(approvalId: string): Promise<void> {
    try {
      await this.#expire(approvalId)
    } catch (err) {
      if (isReported(err)) this.#overdue.add(approvalId)
      else this.#host.log.error({ err: toLoggable(err), approvalId }, 'an approval could not be expired')
    }
  }

  /** Repeats what the store refused. */
  async catchUp(): Promise<void> {
    for (const approvalId of this.#overdue) {
      await this.#expire(approvalId)
      this.#overdue.delete(approvalId)
    }
  }

  async #expire(approvalId: string): Promise<void> {
    const outcome = { approved: false, expired: true, reason: 'not answered in time' }
    if (await this.#accept(approvalId, outcome)) return
    // The process that stored an answer may have died before it delivered it.
    const answer = (await this.find(approvalId))?.approval.answer
    if (answer) await this.deliver(approvalId, answer)
  }

  /** Delivers a stored answer to its run; false if the run is not one of this process. */
  async deliver(approvalId: string, answer: ApprovalOutcome): Promise<boolean> {
    const runId = runIdOf(approvalId)
    const run = this.#host.answerable(runId)
    if (run === undefined) return this.#host.wake(runId)
    await run.approvalAnswered(approvalId, answer)
    if (run.loss && !run.mayResume) throw new RUN_ERR_STORE({ cause: run.loss })
    return true
  }

  async #accept(approvalId: string, answer: ApprovalOutcome): Promise<boolean> {
    const runId = runIdOf(approvalId)
    // The run is lost and only to be ended: the store must know that first.
    const { lostRuns } = this.#host
    if (lostRuns.isToEnd(runId)) await lostRuns.end(runId)
    const { stores } = this.#host.answerable(runId) ?? this.#host
    if (!(await stores.runs.answerApproval(runId, approvalId, answer))) return false
    if (!(await this.deliver(approvalId, answer)))
      await stores.control.publish({ type: 'approval', runId, approvalId, answer })
    return true
  }
}
