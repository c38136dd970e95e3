import { requireApproval } from '@svc/registry'
import type { AnswerEvent } from '../events/client-events.ts'
import type { Handler } from './handler.ts'

/** `approval.answer`: approves or denies a tool call. @throws RUN_ERR_APPROVAL_NOT_FOUND, RUN_ERR_APPROVAL_ANSWERED */
export const answerApproval: Handler<AnswerEvent> = async (surface, { principal }, payload) => {
  const { approvalId, ...answer } = payload
  await requireApproval(surface, approvalId, principal)
  await surface.runs.answer(approvalId, answer)
  return { ack: { ok: true } }
}
