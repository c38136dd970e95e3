import type { Artifact } from '../../model/artifact.ts'
import type { Message } from '../../model/message.ts'
import type { Task, TaskState, TaskStatus } from '../../model/task.ts'
import type { TaskEvent } from '../../model/task-event.ts'
import type { ClientCodec } from '../client-codec.ts'
import { badAnswer, fields, list, text, type Fields } from '../read-answer.ts'
import { decodePart, encodeMessage } from './message.ts'

const STATES = new Set<string>([
  'submitted',
  'working',
  'input-required',
  'completed',
  'canceled',
  'failed',
  'rejected',
  'auth-required'
] satisfies TaskState[])

/** Version 0.2.x and 0.3, from the client's side. */
export const clientV03: ClientCodec = { encodeSend, decodeAnswer }

function encodeSend(message: Message): object {
  return { message: encodeMessage(message) }
}

function decodeAnswer(answer: unknown): TaskEvent {
  const event = fields(answer)
  const { taskId, contextId } = event
  switch (event['kind']) {
    case 'task':
      return { type: 'task', task: decodeTask(event) }
    case 'message':
      return { type: 'message', message: decodeMessage(event) }
    case 'status-update':
      return {
        type: 'status',
        taskId: text(taskId),
        contextId: text(contextId),
        status: decodeStatus(event['status'])
      }
    case 'artifact-update':
      return {
        type: 'artifact',
        taskId: text(taskId),
        contextId: text(contextId),
        artifact: decodeArtifact(event['artifact']),
        append: event['append'] === true,
        lastChunk: event['lastChunk'] === true
      }
    default:
      throw badAnswer('its kind is unknown')
  }
}

function decodeTask({ id, contextId, status, artifacts, history }: Fields): Task {
  return {
    id: text(id),
    contextId: text(contextId),
    status: decodeStatus(status),
    artifacts: list(artifacts).map(decodeArtifact),
    history: list(history).map((each) => decodeMessage(fields(each)))
  }
}

function decodeStatus(status: unknown): TaskStatus {
  const { state, message } = fields(status)
  const known = STATES.has(text(state)) ? (state as TaskState) : 'unknown'
  return message === undefined ? { state: known } : { state: known, message: decodeMessage(fields(message)) }
}

function decodeMessage({ messageId, role, parts, taskId, contextId }: Fields): Message {
  return {
    messageId: text(messageId),
    role: role === 'user' ? 'user' : 'agent',
    parts: list(parts).map((part) => decodePart(fields(part), 'parts')),
    ...(typeof taskId === 'string' && { taskId }),
    ...(typeof contextId === 'string' && { contextId })
  }
}

function decodeArtifact(artifact: unknown): Artifact {
  const { artifactId, name, parts, metadata } = fields(artifact)
  return {
    artifactId: text(artifactId),
    parts: list(parts).map((part) => decodePart(fields(part), 'parts')),
    ...(typeof name === 'string' && { name }),
    ...(metadata !== undefined && { metadata: fields(metadata) })
  }
}
