import { setTimeout as pause } from 'node:timers/promises'
import { isTellable, type YieldedPart } from '@svc/registry'
import { A2A_ERR_BAD_ANSWER, A2A_ERR_REMOTE } from '../errors.ts'
import type { Message } from '../model/message.ts'
import { isInterruptedState, isTerminalState, type TaskEvent } from '../model/task.ts'
import type { RemoteConnection } from './connection/remote-connection.ts'
import { codeOfRefusal } from './connection/remote-fault.ts'
import type { Limits } from './connection/task-limits.ts'
import type { RemoteParts } from './remote-parts.ts'

/** Reconnections of a broken stream, and the milliseconds between them. */
const RECONNECTS = 3
const RECONNECT_AFTER = 500
/** Milliseconds between polls of a task that is not streamed. */
const POLL_EVERY = 1_000

/**
 * Sends a message, and follows its task until it ends or waits for us. If the service has no such task any more, the message begins
 * another one in the same context; if it has no such context either, in a new one.
 */
export async function* sendMessage(
  message: Message,
  parts: RemoteParts,
  connection: RemoteConnection,
  limits: Limits
): AsyncGenerator<YieldedPart, void> {
  const isFirst = parts.taskId === undefined
  for (let next: Message | undefined = message; next !== undefined;)
    try {
      yield* follow(connection.send(next, limits), parts, connection, limits)
      return
    } catch (err) {
      next = isFirst && parts.taskId === undefined ? withoutLost(next, err) : undefined
      if (next === undefined) throw err
    }
}

/** The message without what the service refuses to continue; undefined if it refuses for another reason. */
function withoutLost({ taskId, contextId, ...rest }: Message, err: unknown): Message | undefined {
  const code = codeOfRefusal(err)
  const isGone = code === -32_001 || code === -32_004
  if (taskId !== undefined)
    return isGone ? { ...rest, ...(contextId !== undefined && { contextId }) } : undefined
  if (contextId === undefined) return undefined
  // Invalid parameters have other reasons too.
  return isGone || (code === -32_602 && /context/i.test((err as Error).message)) ? rest : undefined
}

async function* follow(
  events: AsyncIterable<TaskEvent>,
  parts: RemoteParts,
  connection: RemoteConnection,
  limits: Limits
): AsyncGenerator<YieldedPart, void> {
  const { signal } = limits
  yield* addAll(events, parts, signal)
  for (let attempt = 0; isOpen(parts); attempt++) {
    const { taskId } = parts
    if (taskId === undefined) throw new A2A_ERR_BAD_ANSWER('it ended without a task')
    if (attempt < RECONNECTS) {
      await pause(RECONNECT_AFTER * attempt, undefined, { signal })
      yield* addAll(connection.subscribe(taskId, limits), parts, signal)
      continue
    }
    await pause(POLL_EVERY, undefined, { signal })
    yield* parts.add(await connection.get(taskId, limits))
  }
}

// Once the task is known, a broken connection does not end it.
async function* addAll(
  events: AsyncIterable<TaskEvent>,
  parts: RemoteParts,
  signal: AbortSignal
): AsyncGenerator<YieldedPart, void> {
  try {
    for await (const event of events) yield* parts.add(event)
  } catch (err) {
    signal.throwIfAborted()
    if (isTellable(err)) throw err
    if (parts.taskId === undefined) throw new A2A_ERR_REMOTE('its answer breaks off', { cause: err })
  }
}

function isOpen({ status }: RemoteParts): boolean {
  return !isTerminalState(status.state) && !isInterruptedState(status.state)
}
