import type { RunEngine, RunStatus, RunSummary } from '@svc/registry'
import type { Message } from '../model/message.ts'
import { answerMessage, approvalMessage, readAsked } from './agent-messages.ts'

/** What was said in a task, and how much of it is wanted. */
export interface Said {
  messages: readonly Message[]
  /** What the agent said in the end. */
  answer: string
  /** Messages, the newest; default all. */
  limit?: number | undefined
  /** Whether long arguments are wanted too. */
  isWhole: boolean
}

/** What was said in a task, oldest first; what it asks for now is its status, not its history. */
export async function readHistory(
  runs: RunEngine,
  { runId: taskId, sessionId: contextId }: Pick<RunSummary, 'runId' | 'sessionId'>,
  status: RunStatus,
  { messages, answer, limit = Number.POSITIVE_INFINITY, isWhole }: Said
): Promise<Message[]> {
  const task = { taskId, contextId }
  const newest: Message[] = []
  if (status === 'completed' && answer !== '') newest.push(answerMessage(task, answer))
  // What is first said to a run of another surface answers it already.
  const first = messages[0]?.taskId === undefined ? 1 : 0
  for (let index = messages.length - 1; index >= 0 && newest.length < limit; index--) {
    newest.push({ ...messages[index]!, ...task })
    if (index < first || newest.length >= limit) continue
    const found = await runs.findApproval(`${taskId}.${index - first + 1}`)
    if (found !== undefined)
      newest.push(approvalMessage(task, await readAsked(runs, found.approval, isWhole)))
  }
  return newest.slice(0, limit).toReversed()
}
