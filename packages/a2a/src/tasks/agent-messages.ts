import { defined, type InputSummary, type PartError, type PartOf, type RunSummary } from '@svc/contract'
import type { RunEngine } from '@svc/surface'
import type { Message, MessagePart } from '../model/message.ts'
import { toTimestamp } from '../model/task.ts'

interface TaskIds {
  taskId: string
  contextId: string
}

/** A request for an input: an approval, the answer to a question, the result of a client tool, or credentials. */
export interface InputPrompt extends Omit<InputSummary, 'source' | 'expiresAt' | 'answer' | 'argsBytes'> {
  /** Only with `argsPreview`. */
  argsBytes?: number
  /** ISO 8601. */
  expiresAt: string
}

/** The answer of a task, as a message of its history. */
export function answerMessage(task: TaskIds, text: string): Message {
  return agentMessage(task, `${task.taskId}.answer`, [{ text }])
}

/** The answer of a run as the only reply to a message. It names no task, so that clients track none. */
export function replyMessage(
  { runId, sessionId: contextId, name: agentName }: Pick<RunSummary, 'runId' | 'sessionId' | 'name'>,
  parts: MessagePart[]
): Message {
  return { messageId: `${runId}.answer`, role: 'agent', parts, contextId, metadata: { agentName } }
}

/** Asks for an input. While several wait, a bare text would not say which one it answers. */
export function promptMessage(task: TaskIds, prompt: InputPrompt, isOnly = true): Message {
  const { inputId, kind, message, schema, toolCallId, toolName, args, argsPreview, argsBytes, expiresAt } =
    prompt
  const what = argsPreview === undefined ? { args } : { argsPreview, argsBytes }
  if (kind === 'approval') {
    const data = { approvalId: inputId, toolName, ...what, expiresAt }
    return agentMessage(task, inputId, [{ text: approvalText(toolName, isOnly) }, { data }])
  }
  const data = {
    inputId,
    kind,
    ...defined({ message, schema }),
    ...(toolName !== undefined && { toolCallId, toolName, ...what }),
    expiresAt
  }
  return agentMessage(task, inputId, [{ text: message ?? toolText(toolName) }, { data }])
}

function approvalText(toolName: string | undefined, isOnly: boolean): string {
  const how = isOnly
    ? 'answer "approve" or "deny"'
    : 'others wait too, so answer with data: its approvalId, and approved as true or false'
  return `The tool "${toolName}" needs an approval: ${how}.`
}

function toolText(toolName: string | undefined): string {
  return `Your tool "${toolName}" is called: answer with data: the inputId, the action "accept", and its result as content.`
}

/** The request of a part. */
export function promptOf(part: PartOf<'tool.approval.request'> | PartOf<'input.request'>): InputPrompt {
  return part.type === 'input.request' ? part : { ...part, inputId: part.approvalId, kind: 'approval' }
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

/** Reads a request, with long arguments if the whole task is wanted. */
export async function readPrompt(
  { stores }: Pick<RunEngine, 'stores'>,
  input: InputSummary,
  isWhole: boolean
): Promise<InputPrompt> {
  const { argsPreview, argsBytes, ...rest } = input
  const prompt = { ...rest, expiresAt: toTimestamp(input.expiresAt) }
  if (argsPreview === undefined) return prompt
  if (!isWhole || argsBytes > MAX_ARGS) return { ...prompt, argsPreview, argsBytes }
  let json = ''
  for await (const piece of stores.runs.readArgs(input.inputId)) json += piece
  return { ...prompt, args: JSON.parse(json) as unknown }
}
