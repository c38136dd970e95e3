import type { StoredRun } from '@svc/registry'
import type { Message } from '../model/message.ts'
import { answerMessage, approvalMessage } from './agent-messages.ts'
import { isoTime } from './iso-time.ts'

/** What was said in a task, oldest first; what it asks for now is its status, not its history. */
export function toHistory(
  run: StoredRun,
  said: readonly Message[],
  answer: string,
  limit = Number.POSITIVE_INFINITY
): Message[] {
  const task = { taskId: run.runId, contextId: run.sessionId }
  const history: Message[] = []
  // What is first said to a run of another surface answers it already.
  const first = said[0]?.taskId === undefined ? 1 : 0
  said.forEach((message, index) => {
    const asked = run.approvals[index - first]
    if (asked !== undefined) {
      const expiresAt = isoTime(asked.expiresAt)
      history.push(approvalMessage(task, { ...asked, expiresAt }))
    }
    history.push({ ...message, taskId: run.runId, contextId: run.sessionId })
  })
  if (run.status === 'completed' && answer !== '') history.push(answerMessage(task, answer))
  return history.length > limit ? history.slice(history.length - limit) : history
}
