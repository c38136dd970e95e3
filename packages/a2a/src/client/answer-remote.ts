import { randomUUID } from 'node:crypto'
import type { TSchema } from '@sinclair/typebox'
import type { RunContext } from '@svc/contract'
import type { Message } from '../model/message.ts'
import { isInterruptedState } from '../model/task.ts'
import type { RemoteParts } from './remote-parts.ts'
import { toMessage } from './to-message.ts'

/**
 * Requests the approval or the credentials that the remote task waits for, or asks its question, and returns the message that
 * answers it; undefined if the task does not say what it waits for.
 */
export async function answerRemote(parts: RemoteParts, context: RunContext): Promise<Message | undefined> {
  const { taskId, contextId, status } = parts
  if (!isInterruptedState(status.state) || taskId === undefined) return undefined
  for (const part of status.message?.parts ?? []) {
    if (!('data' in part)) continue
    const asked = (part.data ?? {}) as Record<string, unknown>
    const data =
      status.state === 'auth-required'
        ? await requestCredentials(asked, context)
        : ((await requestApproval(asked, context)) ?? (await askQuestion(asked, context)))
    if (data === undefined) continue
    return toMessage(randomUUID(), [{ data }], {
      taskId,
      ...(contextId !== undefined && contextId !== '' && { contextId })
    })
  }
  return undefined
}

async function requestApproval(asked: Record<string, unknown>, { approvals }: RunContext) {
  const { approvalId, toolName, args } = asked
  if (typeof approvalId !== 'string' || typeof toolName !== 'string') return undefined
  const request = { toolCallId: approvalId, toolName, args, ...timeLeft(asked) }
  const { approved, reason, args: edited } = await approvals.request(request)
  return {
    approvalId,
    approved,
    ...(reason !== undefined && { reason }),
    ...(edited !== undefined && { args: edited })
  }
}

async function askQuestion(asked: Record<string, unknown>, context: RunContext) {
  const question = toQuestion(asked)
  if (question === undefined) return undefined
  const { action, content } = await context.ask(question)
  return { inputId: asked['inputId'], action, ...(content !== undefined && { content }) }
}

// The answer is for the service only: it is in nothing that we keep.
async function requestCredentials(asked: Record<string, unknown>, context: RunContext) {
  const request = toQuestion(asked)
  if (request === undefined || asked['kind'] !== 'auth') return undefined
  const { action, credentials } = await context.requestCredentials(request)
  return { inputId: asked['inputId'], action, ...(credentials && { content: credentials.reveal() }) }
}

function toQuestion(asked: Record<string, unknown>) {
  const { inputId, message, schema } = asked
  if (typeof inputId !== 'string' || typeof message !== 'string') return undefined
  const hasSchema = typeof schema === 'object' && schema !== null
  return { message, ...(hasSchema && { schema: schema as TSchema }), ...timeLeft(asked) }
}

function timeLeft({ expiresAt }: Record<string, unknown>): { timeout?: number } {
  const left = typeof expiresAt === 'string' ? Date.parse(expiresAt) - Date.now() : Number.NaN
  return left > 0 ? { timeout: left } : {}
}
