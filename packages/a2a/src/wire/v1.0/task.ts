import type { Task, TaskEvent, TaskState, TaskStatus } from '../../model/task.ts'
import { encodeMessage } from './message.ts'

/** The names of the states, in the order of their numbers in the proto. */
export const STATES: Readonly<Record<TaskState, string>> = {
  unknown: 'TASK_STATE_UNSPECIFIED',
  submitted: 'TASK_STATE_SUBMITTED',
  working: 'TASK_STATE_WORKING',
  completed: 'TASK_STATE_COMPLETED',
  failed: 'TASK_STATE_FAILED',
  canceled: 'TASK_STATE_CANCELED',
  'input-required': 'TASK_STATE_INPUT_REQUIRED',
  rejected: 'TASK_STATE_REJECTED',
  'auth-required': 'TASK_STATE_AUTH_REQUIRED'
}
const NAMES = new Map(Object.entries(STATES).map(([state, name]) => [name, state as TaskState]))

/** Undefined when there is no such state. */
export function decodeState(name: string): TaskState | undefined {
  return NAMES.get(name)
}

export function encodeTask({ id, contextId, status, artifacts, history, metadata }: Task): object {
  return {
    id,
    contextId,
    status: encodeStatus(status),
    artifacts,
    history: history?.map(encodeMessage),
    metadata
  }
}

export function encodeStatus({ state, message, timestamp }: TaskStatus): object {
  return { state: STATES[state], message: message && encodeMessage(message), timestamp }
}

/** An event as a StreamResponse. */
export function encodeEvent(event: TaskEvent): object {
  switch (event.type) {
    case 'task':
      return { task: encodeTask(event.task) }
    case 'message':
      return { message: encodeMessage(event.message) }
    case 'status': {
      const { taskId, contextId, status } = event
      return { statusUpdate: { taskId, contextId, status: encodeStatus(status) } }
    }
    default: {
      const { taskId, contextId, artifact, append, lastChunk } = event
      return { artifactUpdate: { taskId, contextId, artifact, append, lastChunk } }
    }
  }
}
