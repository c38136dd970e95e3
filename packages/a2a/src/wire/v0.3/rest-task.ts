import type { Artifact } from '../../model/message.ts'
import type { Task, TaskEvent, TaskStatus } from '../../model/task.ts'
import { STATES } from '../states.ts'
import { encodeRestMessage, encodeRestPart } from './rest-message.ts'
import { isFinal } from './task.ts'

export function encodeRestTask({ id, contextId, status, artifacts, history, metadata }: Task): object {
  return {
    id,
    contextId,
    status: encodeStatus(status),
    artifacts: artifacts?.map(encodeArtifact),
    history: history?.map(encodeRestMessage),
    metadata
  }
}

/** An event as the StreamResponse of the proto of version 0.3. */
export function encodeRestEvent(event: TaskEvent): object {
  switch (event.type) {
    case 'task':
      return { task: encodeRestTask(event.task) }
    case 'message':
      return { message: encodeRestMessage(event.message) }
    case 'status': {
      const { taskId, contextId, status } = event
      return {
        statusUpdate: { taskId, contextId, status: encodeStatus(status), final: isFinal(status.state) }
      }
    }
    default: {
      const { taskId, contextId, artifact, append, lastChunk } = event
      return { artifactUpdate: { taskId, contextId, artifact: encodeArtifact(artifact), append, lastChunk } }
    }
  }
}

// The proto of version 0.3 writes this one state with two l's.
function encodeStatus({ state, message, timestamp }: TaskStatus): object {
  const name = state === 'canceled' ? 'TASK_STATE_CANCELLED' : STATES[state]
  return { state: name, message: message && encodeRestMessage(message), timestamp }
}

function encodeArtifact({ parts, ...artifact }: Artifact): object {
  return { ...artifact, parts: parts.map(encodeRestPart) }
}
