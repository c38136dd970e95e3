import type { PushConfig, RunResult } from '@svc/contract'
import type { Task, TaskEvent } from '../model/task.ts'
import { toAnswer } from '../tasks/artifacts.ts'
import type { Codec } from '../wire/codec.ts'
import type { Delivery } from './deliver.ts'
import { isAnswer } from './push-events.ts'

/** Reads what an event leaves out; undefined if the task is gone. */
export interface PushedTask {
  task(): Promise<Task | undefined>
  result(): Promise<RunResult | null | undefined>
}

/** An event in the version of its receiver; undefined if that version has no notification for it. */
export async function encodePush(
  event: TaskEvent,
  config: PushConfig,
  codec: Codec,
  task: PushedTask
): Promise<Delivery | undefined> {
  const whole = codec.pushes === 'task' ? await withTask(event, task) : await withAnswer(event, task)
  if (whole === undefined) return undefined
  return {
    url: new URL(config.url),
    headers: {
      'content-type': codec.mediaType ?? 'application/json',
      ...toHeaders(config)
    },
    body: JSON.stringify(codec.encodeEvent(whole))
  }
}

// The status is the event's: the task may have changed again.
async function withTask(event: TaskEvent, source: PushedTask): Promise<TaskEvent | undefined> {
  if (event.type !== 'status') return undefined
  const task = await source.task()
  return task && { type: 'task', task: { ...task, status: event.status } }
}

// The event of an answer has its last piece only.
async function withAnswer(event: TaskEvent, source: PushedTask): Promise<TaskEvent | undefined> {
  if (!isAnswer(event)) return event
  const result = (await source.result()) ?? undefined
  const artifact = result && toAnswer(result)
  return artifact && { ...event, artifact, append: false }
}

function toHeaders({ token, authentication }: PushConfig): Record<string, string> {
  const { schemes, credentials } = (authentication ?? {}) as { schemes?: string[]; credentials?: string }
  const [scheme] = schemes ?? []
  return {
    ...(token !== undefined && { 'x-a2a-notification-token': token }),
    ...(scheme !== undefined && credentials !== undefined && { authorization: `${scheme} ${credentials}` })
  }
}
