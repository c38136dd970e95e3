import type { RunSummary } from '@svc/contract'
import type { Message } from '../model/message.ts'
import type { Call } from '../model/requests.ts'
import type { Surface } from '../service/surface.ts'
import { waitingState } from '../tasks/task-state.ts'
import type { GivenAnswer } from './read-answer.ts'
import { withoutBytes } from './without-bytes.ts'

/**
 * What a task keeps of a message to it: no bytes, and nothing that may be a secret. Of an answer with credentials those are its `inputId`
 * and its action, and of any other message while the task waits for credentials its id.
 */
export async function toKeptMessage(
  { runs }: Surface,
  run: RunSummary,
  message: Message,
  answer: GivenAnswer | undefined
): Promise<Message> {
  if (answer !== undefined && 'inputId' in answer) {
    const { inputId } = answer
    const found = await runs.findInput(inputId)
    if (found?.run.runId !== run.runId || found.input.kind !== 'auth') return withoutBytes(message)
    const { action } = answer.answer
    return { ...withoutContent(message), parts: [{ data: { inputId, action } }] }
  }
  return waitingState(run.waiting.inputs.first) === 'auth-required'
    ? withoutContent(message)
    : withoutBytes(message)
}

/** A message without what it says. Its id stays, so that it is accepted once; histories leave it out. */
export function withoutContent({ messageId, role, taskId, contextId }: Message): Message {
  return {
    messageId,
    role,
    ...(taskId !== undefined && { taskId }),
    ...(contextId !== undefined && { contextId }),
    parts: []
  }
}

/** A message without its caller's keys for model providers; ids stay as they are. */
export function withoutKeys(message: Message, { keyed: { redact } }: Pick<Call, 'keyed'>): Message {
  if (redact === undefined) return message
  const { parts, metadata } = message
  return { ...message, parts: redact(parts), ...(metadata && { metadata: redact(metadata) }) }
}
