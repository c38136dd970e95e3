import type { Task, TaskEvent, TaskStatus } from '../../model/task.ts'
import { STATES } from '../states.ts'
import { encodeMessage } from './message.ts'

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

function encodeStatus({ state, message, timestamp }: TaskStatus): object {
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
