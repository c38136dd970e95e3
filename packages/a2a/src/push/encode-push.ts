import type { PushConfig, RunResult } from '@svc/registry'
import type { ProtocolVersion } from '../model/agent-card.ts'
import type { Task, TaskEvent } from '../model/task.ts'
import { ANSWER_ID, toArtifacts } from '../tasks/artifacts.ts'
import { encodeTask } from '../wire/v0.3/task.ts'
import { encodeEvent } from '../wire/v1.0/task.ts'
import type { Delivery } from './deliver.ts'
import { isAnswer } from './push-events.ts'

/** Reads what an event does not say itself; undefined where the task is gone. */
export interface TaskSource {
  task(): Promise<Task | undefined>
  result(): Promise<RunResult | null | undefined>
}

/** Whether a receiver is told the whole task at each change of its state, and not each event: so it was before 1.0. */
export function wantsTask({ version }: PushConfig): boolean {
  return ((version ?? '0.3') as ProtocolVersion) === '0.3'
}

/** An event as the version of its receiver has it. Undefined where there is nothing to tell. */
export async function encodePush(
  event: TaskEvent,
  config: PushConfig,
  source: TaskSource
): Promise<Delivery | undefined> {
  const isLegacy = wantsTask(config)
  const body = isLegacy ? await encodeWhole(event, source) : await encodeOne(event, source)
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
async function encodeWhole(event: TaskEvent, source: TaskSource): Promise<object | undefined> {
  if (event.type !== 'status') return undefined
  const task = await source.task()
  return task && encodeTask({ ...task, status: event.status })
}

async function encodeOne(event: TaskEvent, source: TaskSource): Promise<object | undefined> {
  if (!isAnswer(event)) return encodeEvent(event)
  const result = (await source.result()) ?? undefined
  const artifact = result && toArtifacts(result).find(({ artifactId }) => artifactId === ANSWER_ID)
  return artifact && encodeEvent({ ...event, artifact, append: false })
}

function toHeaders({ token, authentication }: PushConfig): Record<string, string> {
  const { schemes, credentials } = (authentication ?? {}) as { schemes?: string[]; credentials?: string }
  const [scheme] = schemes ?? []
  return {
    ...(token !== undefined && { 'x-a2a-notification-token': token }),
    ...(scheme !== undefined && credentials !== undefined && { authorization: `${scheme} ${credentials}` })
  }
}
