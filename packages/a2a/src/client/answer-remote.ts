import { randomUUID } from 'node:crypto'
import type { RunContext } from '@svc/registry'
import type { Message } from '../model/message.ts'
import type { RemoteParts } from './remote-parts.ts'
import { toMessage } from './to-message.ts'

/** Requests the approval that the remote task waits for, and returns the message that answers it; undefined if there is none. */
export async function answerRemote(parts: RemoteParts, context: RunContext): Promise<Message | undefined> {
  const { taskId, contextId, status } = parts
  if (status.state !== 'input-required' || taskId === undefined) return undefined
  const request = readRequest(status.message)
  if (request === undefined) return undefined
  const { approvalId, toolName, args, timeout } = request
  const {
    approved,
    reason,
    args: edited
  } = await context.approvals.request({
    toolCallId: approvalId,
    toolName,
    args,
    ...(timeout !== undefined && { timeout })
  })
  const data = {
    approvalId,
    approved,
    ...(reason !== undefined && { reason }),
    ...(edited !== undefined && { args: edited })
  }
  return toMessage(randomUUID(), [{ data }], {
    taskId,
    ...(contextId !== undefined && contextId !== '' && { contextId })
  })
}

function readRequest(message: Message | undefined) {
  for (const part of message?.parts ?? []) {
    if (!('data' in part)) continue
    const { approvalId, toolName, args, expiresAt } = (part.data ?? {}) as Record<string, unknown>
    if (typeof approvalId !== 'string' || typeof toolName !== 'string') continue
    const left = typeof expiresAt === 'string' ? Date.parse(expiresAt) - Date.now() : Number.NaN
    return { approvalId, toolName, args, timeout: left > 0 ? left : undefined }
  }
  return undefined
}
