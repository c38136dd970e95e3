import type { InputSummary, PartError, RunEngine } from '@svc/registry'
import type { Message, MessagePart } from '../model/message.ts'
import { toTimestamp } from '../model/task.ts'

interface TaskIds {
  taskId: string
  contextId: string
}

/** A request for an approval. */
export interface ApprovalPrompt {
  approvalId: string
  toolName: string
  args?: unknown
  /** Of arguments that are too long: the beginning of their JSON, and its bytes. */
  argsPreview?: string
  argsBytes?: number
  /** ISO 8601. */
  expiresAt: string
}

/** The answer of a task, as a message of its history. */
export function answerMessage(task: TaskIds, text: string): Message {
  return agentMessage(task, `${task.taskId}.answer`, [{ text }])
}

/** Asks for an approval. While several wait, a bare word would not say which one it answers. */
export function approvalMessage(task: TaskIds, prompt: ApprovalPrompt, isOnly = true): Message {
  const { approvalId, toolName, args, argsPreview, argsBytes, expiresAt } = prompt
  const what = argsPreview === undefined ? { args } : { argsPreview, argsBytes }
  const how = isOnly
    ? 'answer "approve" or "deny"'
    : 'others wait too, so answer with data: its approvalId, and approved as true or false'
  const text = `The tool "${toolName}" needs an approval: ${how}.`
  return agentMessage(task, approvalId, [{ text }, { data: { approvalId, toolName, ...what, expiresAt } }])
}

/** Why a task failed. */
export function errorMessage(task: TaskIds, { code, message, retryable }: PartError): Message {
  return {
    ...agentMessage(task, `${task.taskId}.error`, [{ text: message }]),
    metadata: { code, retryable }
  }
}

function agentMessage({ taskId, contextId }: TaskIds, messageId: string, parts: MessagePart[]): Message {
  return { messageId, role: 'agent', parts, taskId, contextId }
}

/** Bytes of arguments that a task shows in full. */
const MAX_ARGS = 2_097_152

/** Reads the request of an approval, with long arguments if the whole task is wanted. */
export async function readPrompt(
  { stores }: Pick<RunEngine, 'stores'>,
  approval: InputSummary,
  isWhole: boolean
): Promise<ApprovalPrompt> {
  const { inputId: approvalId, toolName = '', argsPreview, argsBytes } = approval
  const prompt = { approvalId, toolName, expiresAt: toTimestamp(approval.expiresAt) }
  if (argsPreview === undefined) return { ...prompt, args: approval.args }
  if (!isWhole || argsBytes > MAX_ARGS) return { ...prompt, argsPreview, argsBytes }
  let json = ''
  for await (const piece of stores.runs.readArgs(approvalId)) json += piece
  return { ...prompt, args: JSON.parse(json) as unknown }
}
