import type { ApprovalSummary, PartError, RunEngine } from '@svc/registry'
import type { Message, MessagePart } from '../model/message.ts'
import { toTimestamp } from '../model/task.ts'

interface OfTask {
  taskId: string
  contextId: string
}

/** What an agent asks for when it waits for an approval. */
export interface Asked {
  approvalId: string
  toolName: string
  args?: unknown
  /** How the JSON of arguments begins that are too long to be told, and how many bytes it has. */
  argsPreview?: string
  argsBytes?: number
  /** ISO 8601. */
  expiresAt: string
}

/** The answer of a task, as a message of its history. */
export function answerMessage(task: OfTask, text: string): Message {
  return agentMessage(task, `${task.taskId}.answer`, [{ text }])
}

/** Asks for an approval. Where it is not the only one that waits, a bare word would not say which is answered. */
export function approvalMessage(task: OfTask, asked: Asked, isOnly = true): Message {
  const { approvalId, toolName, args, argsPreview, argsBytes, expiresAt } = asked
  const what = argsPreview === undefined ? { args } : { argsPreview, argsBytes }
  const how = isOnly
    ? 'answer "approve" or "deny"'
    : 'it is not the only one that waits, so answer with data: its approvalId, and approved as true or false'
  const text = `The tool "${toolName}" needs an approval: ${how}.`
  return agentMessage(task, approvalId, [{ text }, { data: { approvalId, toolName, ...what, expiresAt } }])
}

/** Why a task failed. */
export function errorMessage(task: OfTask, { code, message, retryable }: PartError): Message {
  return {
    ...agentMessage(task, `${task.taskId}.error`, [{ text: message }]),
    metadata: { code, retryable }
  }
}

function agentMessage({ taskId, contextId }: OfTask, messageId: string, parts: MessagePart[]): Message {
  return { messageId, role: 'agent', parts, taskId, contextId }
}

/** Bytes of arguments up to which a task shows all of them. */
const MAX_ARGS = 2_097_152

/** What an approval asks for; long arguments are read where the whole of a task is wanted. */
export async function readAsked(
  { stores }: Pick<RunEngine, 'stores'>,
  approval: ApprovalSummary,
  isWhole: boolean
): Promise<Asked> {
  const { approvalId, toolName, argsPreview, argsBytes } = approval
  const asked = { approvalId, toolName, expiresAt: toTimestamp(approval.expiresAt) }
  if (argsPreview === undefined) return { ...asked, args: approval.args }
  if (!isWhole || argsBytes > MAX_ARGS) return { ...asked, argsPreview, argsBytes }
  let json = ''
  for await (const piece of stores.runs.readArgs(approvalId)) json += piece
  return { ...asked, args: JSON.parse(json) as unknown }
}
