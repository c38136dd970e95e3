import { setTimeout as pause } from 'node:timers/promises'
import { isTellable, type RunContext, type YieldedPart } from '@svc/contract'
import { keepFile } from '@svc/surface'
import { A2A_ERR_BAD_ANSWER, A2A_ERR_REMOTE } from '../errors.ts'
import type { Message } from '../model/message.ts'
import { isInterruptedState, isTerminalState, type TaskEvent } from '../model/task.ts'
import type { RemoteConnection } from './connection/remote-connection.ts'
import { codeOfRefusal } from './connection/remote-fault.ts'
import type { Limits } from './connection/task-limits.ts'
import type { RemoteFile } from './remote-file.ts'
import type { RemoteParts } from './remote-parts.ts'

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
    if (isTellable(err)) throw err
    if (parts.taskId === undefined) throw new A2A_ERR_REMOTE('its answer breaks off', { cause: err })
  }
}

function keep({ type: _, ...file }: RemoteFile, context: RunContext): Promise<YieldedPart> {
  return keepFile(context, file)
}

function isOpen({ status }: RemoteParts): boolean {
  return !isTerminalState(status.state) && !isInterruptedState(status.state)
}
