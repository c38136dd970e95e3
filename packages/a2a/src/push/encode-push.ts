import type { PushConfig } from '@svc/registry'
import type { ProtocolVersion } from '../model/agent-card.ts'
import type { Task } from '../model/task.ts'
import type { TaskEvent } from '../model/task-event.ts'
import { encodeTask } from '../wire/v0.3/task.ts'
import { encodeEvent } from '../wire/v1.0/task.ts'
import type { Delivery } from './deliver.ts'

/**
 * An event as the version of its receiver has it: 1.0 is told the event, earlier ones the task at each change of its state.
 * Undefined where there is nothing to tell.
 */
export async function encodePush(
  event: TaskEvent,
  version: ProtocolVersion,
  config: PushConfig,
  readTask: () => Promise<Task | undefined>
): Promise<Delivery | undefined> {
  const isLegacy = version === '0.3'
  if (isLegacy && event.type !== 'status') return undefined
  const body = isLegacy ? await encodeWhole(event, readTask) : encodeEvent(event)
  if (body === undefined) return undefined
  return {
    url: new URL(config.url),
    headers: {
      'content-type': isLegacy ? 'application/json' : 'application/a2a+json',
      ...toHeaders(config)
    },
    body: JSON.stringify(body)
  }
}

// With the state of the event: the task may have gone on since.
async function encodeWhole(event: TaskEvent, readTask: () => Promise<Task | undefined>) {
  const task = await readTask()
  return task && event.type === 'status' ? encodeTask({ ...task, status: event.status }) : undefined
}

function toHeaders({ token, authentication }: PushConfig): Record<string, string> {
  const { schemes, credentials } = (authentication ?? {}) as { schemes?: string[]; credentials?: string }
  const [scheme] = schemes ?? []
  return {
    ...(token !== undefined && { 'x-a2a-notification-token': token }),
    ...(scheme !== undefined && credentials !== undefined && { authorization: `${scheme} ${credentials}` })
  }
}
