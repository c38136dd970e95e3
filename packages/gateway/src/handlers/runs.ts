import { isTerminalStatus } from '@svc/contract'
import { isEnd, requireAnswerable, requireRun } from '@svc/surface'
import type { AnswerEvent, CancelEvent, InputAnswerEvent, WatchEvent } from '../events/client-events.ts'
import { requireOpen, type Handler } from './handler.ts'

/**
 * `run.watch`: follows a run after a given part. Replaces an earlier watch of the same run by this socket.
 * @throws RUN_ERR_NOT_FOUND, RUN_ERR_DRAINING, RUN_ERR_LOG_GONE, GTW_ERR_TOO_MANY_RUNS
 */
export const watchRun: Handler<WatchEvent> = async (surface, connection, payload) => {
  const { runId, after = 0, parts = false, partial = false } = payload
  const { runs, keeper } = surface
  const { principal } = connection
  const run = await requireRun(surface, runId, principal)
  const { kind, status } = run
  if (!isTerminalStatus(status)) requireOpen(runs)
  const isOver = await isEnd(runs.stores, runId, after)
  connection.requireCapacity(runId)
  const answer = { ack: { status } }
  if (isOver) return answer
  keeper.join(run, principal.sub, connection)
  if (connection.closed) keeper.leave(connection)
  return { ...answer, after: () => connection.follow({ runId, kind, after, parts, partial }) }
}

/** `run.cancel`: cancels a run. @throws RUN_ERR_NOT_FOUND, RUN_ERR_TERMINAL */
export const cancelRun: Handler<CancelEvent> = async (surface, { principal }, { runId }) => {
  await requireRun(surface, runId, principal)
  await surface.runs.cancel(runId)
  return { ack: { ok: true } }
}

/** `approval.answer`: approves or denies a tool call. @throws RUN_ERR_INPUT_NOT_FOUND, RUN_ERR_INPUT_ANSWERED, RUN_ERR_INPUT_EXPIRED */
export const answerApproval: Handler<AnswerEvent> = async (surface, { principal }, payload) => {
  const { approvalId, ...answer } = payload
  await requireAnswerable(surface, 'approvals', approvalId, principal)
  await surface.runs.answer(approvalId, answer)
  return { ack: { ok: true } }
}

/**
 * `input.answer`: answers a question or a client tool.
 * @throws RUN_ERR_INPUT_NOT_FOUND, RUN_ERR_INPUT_ANSWERED, RUN_ERR_INPUT_EXPIRED, RUN_ERR_BAD_INPUT
 */
export const answerInput: Handler<InputAnswerEvent> = async (surface, { principal }, payload) => {
  const { inputId, ...answer } = payload
  await requireAnswerable(surface, 'inputs', inputId, principal)
  await surface.runs.answer(inputId, answer)
  return { ack: { ok: true } }
}
