import type { Artifact } from '../../model/message.ts'
import {
  isInterruptedState,
  isTerminalState,
  type Task,
  type TaskEvent,
  type TaskState,
  type TaskStatus
} from '../../model/task.ts'
import { encodeMessage, encodePart } from './message.ts'

export function encodeTask({ id, contextId, status, artifacts, history, metadata }: Task): object {
  return {
    kind: 'task',
    id,
    contextId,
    status: encodeStatus(status),
    artifacts: artifacts?.map(encodeArtifact),
    history: history?.map(encodeMessage),
    metadata
  }
}

function encodeStatus({ state, message, timestamp }: TaskStatus): object {
  return { state, message: message && encodeMessage(message), timestamp }
}

function encodeArtifact({ artifactId, name, description, parts, metadata }: Artifact): object {
  return { artifactId, name, description, parts: parts.map(encodePart), metadata }
}

/** True if a status is the last event of a stream. */
export function isFinal(state: TaskState): boolean {
  return isTerminalState(state) || isInterruptedState(state)
}

/** An event, discriminated by its `kind`. */
export function encodeEvent(event: TaskEvent): object {
  switch (event.type) {
    case 'task':
      return encodeTask(event.task)
    case 'message':
      return encodeMessage(event.message)
    case 'status': {
      const { taskId, contextId, status } = event
      const final = isFinal(status.state)
      return { kind: 'status-update', taskId, contextId, status: encodeStatus(status), final }
    }
    default: {
      const { taskId, contextId, artifact, append, lastChunk } = event
      return {
        kind: 'artifact-update',
        taskId,
        contextId,
        artifact: encodeArtifact(artifact),
        append,
        lastChunk
      }
    }
  }
}
