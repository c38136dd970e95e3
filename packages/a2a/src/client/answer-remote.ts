import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type { TSchema } from '@sinclair/typebox'
import {
  defined,
  isExposed,
  type ContentPart,
  type FileContentPart,
  type RunContext,
  type RunInput,
  type YieldedPart
} from '@svc/contract'
import { keepFile } from '@svc/surface'
import { A2A_ERR_BAD_ANSWER, A2A_ERR_REMOTE } from '../errors.ts'
import type { Message, MessagePart } from '../model/message.ts'
import { isInterruptedState, isTerminalState, type TaskEvent } from '../model/task.ts'
import type { RemoteConnection } from './connection/remote-connection.ts'
import { codeOfRefusal } from './connection/remote-fault.ts'
import type { Limits } from './connection/transport.ts'
import type { RemoteFile, RemoteParts } from './remote-parts.ts'

type AnyPart = ContentPart | FileContentPart

/** The parts of a message for the input of a runnable. */
export async function toMessageParts(input: RunInput): Promise<MessagePart[]> {
  if (typeof input === 'string') return [{ text: input }]
  if (!isContent(input)) return [{ data: input }]
  return Promise.all(input.map(toMessagePart))
}

/** A user's message. */
export function toMessage(messageId: string, parts: MessagePart[], more: Partial<Message>): Message {
  return { messageId, role: 'user', parts, ...more }
}

function isContent(input: RunInput): input is AnyPart[] {
  const types = ['text', 'image', 'audio', 'file']
  return (
    Array.isArray(input) &&
    input.length > 0 &&
    input.every((part) => types.includes((part as AnyPart | null)?.type ?? ''))
  )
}

async function toMessagePart(part: AnyPart): Promise<MessagePart> {
  if (part.type === 'text') return { text: part.text }
  const about = { mediaType: part.mimeType, ...defined({ filename: part.filename }) }
  if ('url' in part) return { url: part.url, ...about }
  if ('data' in part) return { raw: part.data, ...about }
  const chunks: Uint8Array[] = []
  for await (const chunk of part.file.stream()) chunks.push(chunk)
  return { raw: Buffer.concat(chunks).toString('base64'), ...about }
}

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
  return { approvalId, approved, ...defined({ reason, args: edited }) }
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

/** Reconnections of a broken stream, and the milliseconds between them. */
const RECONNECTS = 3
const RECONNECT_AFTER = 500
/** Milliseconds between polls of a task that is not streamed. */
const POLL_EVERY = 1_000

/** What a run has with its service. */
export interface RemoteTask {
  readonly context: RunContext
  readonly connection: RemoteConnection
  readonly parts: RemoteParts
  readonly limits: Limits
}

/**
 * Sends a message, and follows its task until it ends or waits for us. If the service has no such task any more, the message begins
 * another one in the same context; if it has no such context either, in a new one.
 */
export async function* sendMessage(message: Message, task: RemoteTask): AsyncGenerator<YieldedPart, void> {
  const { parts, connection, limits } = task
  const { signal } = limits
  const isFirst = parts.taskId === undefined
  for (let next = message; ;)
    try {
      yield* addAll(connection.send(next, limits), task)
      break
    } catch (err) {
      const rest = isFirst && parts.taskId === undefined ? await withoutLost(next, err, task) : undefined
      if (rest === undefined) throw err
      next = rest
    }
  for (let attempt = 0; isOpen(parts); attempt++) {
    const { taskId } = parts
    if (taskId === undefined) throw new A2A_ERR_BAD_ANSWER('it ended without a task')
    if (attempt < RECONNECTS && (await connection.streams(signal))) {
      await pause(RECONNECT_AFTER * attempt, undefined, { signal })
      try {
        yield* addAll(connection.subscribe(taskId, limits), task)
      } catch (err) {
        // It cannot be subscribed to, or has ended meanwhile.
        if (codeOfRefusal(err) === undefined) throw err
        attempt = RECONNECTS
        yield* addAll([await connection.get(taskId, limits)], task)
      }
      continue
    }
    await pause(POLL_EVERY, undefined, { signal })
    yield* addAll([await connection.get(taskId, limits)], task)
  }
}

/** The message without what the service refuses to continue; undefined if it refuses for another reason. */
async function withoutLost(
  { taskId, contextId, ...rest }: Message,
  err: unknown,
  task: RemoteTask
): Promise<Message | undefined> {
  const code = codeOfRefusal(err)
  const isGone = code === -32_001 || code === -32_004
  if (taskId !== undefined) {
    if (!isGone && !(code === -32_603 && (await isUnknown(taskId, task)))) return undefined
    return { ...rest, ...(contextId !== undefined && { contextId }) }
  }
  if (contextId === undefined) return undefined
  // Invalid parameters have other reasons too.
  return isGone || (code === -32_602 && /context/i.test((err as Error).message)) ? rest : undefined
}

// Some services fail internally when a message names an unknown task.
async function isUnknown(taskId: string, { connection, limits }: RemoteTask): Promise<boolean> {
  try {
    await connection.get(taskId, limits)
    return false
  } catch (err) {
    return codeOfRefusal(err) === -32_001
  }
}

// Once the task is known, a broken connection does not end it.
async function* addAll(
  events: AsyncIterable<TaskEvent> | Iterable<TaskEvent>,
  { parts, context, limits }: RemoteTask
): AsyncGenerator<YieldedPart, void> {
  try {
    for await (const event of events)
      for (const part of parts.add(event)) yield part.type === 'bytes' ? await keep(part, context) : part
  } catch (err) {
    limits.signal.throwIfAborted()
    if (isExposed(err)) throw err
    if (parts.taskId === undefined) throw new A2A_ERR_REMOTE('its answer breaks off', { cause: err })
  }
}

function keep({ type: _, ...file }: RemoteFile, context: RunContext): Promise<YieldedPart> {
  return keepFile(context, file)
}

function isOpen({ status }: RemoteParts): boolean {
  return !isTerminalState(status.state) && !isInterruptedState(status.state)
}
