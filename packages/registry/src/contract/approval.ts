import type { ApprovalAnswer } from './run-record.ts'

/** What an approval is asked for. */
export interface ApprovalRequest {
  toolCallId: string
  toolName: string
  args: unknown
  /** Milliseconds until the approval counts as denied; default 300,000, at most 2,147,483,647. */
  timeout?: number
  /**
   * True if a resumed run requests the same approval again. While such a run waits for nothing else and runs no step, it may
   * leave memory until the answer resumes it. Default false.
   */
  durable?: boolean
}

/** The outcome of an approval; `expired` if no answer came in time. */
export interface ApprovalOutcome extends ApprovalAnswer {
  expired?: boolean
}

/** Requests approvals; the engine records the request, the answer and the state of the run. */
export interface Approvals {
  /** Resolves with the answer. @throws the reason of the run's signal if the run ends first */
  request(request: ApprovalRequest): Promise<ApprovalOutcome>
}
