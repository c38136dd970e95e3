import type { RunEngine, RunStatus, RunSummary } from '@svc/registry'
import type { Message } from '../model/message.ts'
import { answerMessage, promptMessage, readPrompt } from './agent-messages.ts'

/** The messages of a task, and how much of its history to return. */
export interface HistorySource {
  messages: readonly Message[]
  /** The final answer of the agent. */
  answer: string
  /** The newest messages to return; default all. */
  limit?: number | undefined
  /** True to include long arguments. */
  isWhole: boolean
}

/** The messages of a task, oldest first. A pending request is in its status, not in its history. */
export async function readHistory(
  runs: RunEngine,
  { runId: taskId, sessionId: contextId }: Pick<RunSummary, 'runId' | 'sessionId'>,
  status: RunStatus,
  { messages, answer, limit = Number.POSITIVE_INFINITY, isWhole }: HistorySource
): Promise<Message[]> {
  const task = { taskId, contextId }
  const newest: Message[] = []
  if (status === 'completed' && answer !== '') newest.push(answerMessage(task, answer))
  // The first message to a run of another surface is an answer already.
  const first = messages[0]?.taskId === undefined ? 1 : 0
  for (let index = messages.length - 1; index >= 0 && newest.length < limit; index--) {
    const message = messages[index]!
    // The content of a message is not stored if the engine records no inputs.
    if (message.parts.length > 0) newest.push({ ...message, ...task })
    if (index < first || newest.length >= limit) continue
    const found = await runs.findInput(`${taskId}.${index - first + 1}`)
    if (found !== undefined) newest.push(promptMessage(task, await readPrompt(runs, found.input, isWhole)))
  }
  return newest.slice(0, limit).toReversed()
}
