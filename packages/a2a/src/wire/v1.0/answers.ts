import type { Artifact } from '../../model/artifact.ts'
import type { Message } from '../../model/message.ts'
import type { Task, TaskStatus } from '../../model/task.ts'
import type { TaskEvent } from '../../model/task-event.ts'
import type { ClientCodec } from '../client-codec.ts'
import { fields, list, text, type Fields } from '../read-answer.ts'
import { decodePart, encodeMessage } from './message.ts'
import { decodeState } from './task.ts'

/** Version 1.0.x, from the client's side. */
export const clientV10: ClientCodec = { encodeSend, decodeAnswer }

function encodeSend(message: Message): object {
  return { message: encodeMessage(message) }
}

function decodeAnswer(answer: unknown): TaskEvent {
  const { task, message, statusUpdate, artifactUpdate, ...bare } = fields(answer)
  if (task !== undefined) return { type: 'task', task: decodeTask(fields(task)) }
  if (message !== undefined) return { type: 'message', message: decodeMessage(fields(message)) }
  if (statusUpdate !== undefined) {
    const { taskId, contextId, status } = fields(statusUpdate)
    return { type: 'status', taskId: text(taskId), contextId: text(contextId), status: decodeStatus(status) }
  }
  // Answers to GetTask and CancelTask are bare.
  if (artifactUpdate === undefined) return { type: 'task', task: decodeTask(bare) }
  const { taskId, contextId, artifact, append, lastChunk } = fields(artifactUpdate)
  return {
    type: 'artifact',
    taskId: text(taskId),
    contextId: text(contextId),
    artifact: decodeArtifact(artifact),
    append: append === true,
    lastChunk: lastChunk === true
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
  const known = decodeState(text(state)) ?? 'unknown'
  return message === undefined ? { state: known } : { state: known, message: decodeMessage(fields(message)) }
}

function decodeMessage({ messageId, role, parts, taskId, contextId }: Fields): Message {
  return {
    messageId: text(messageId),
    role: role === 'ROLE_USER' ? 'user' : 'agent',
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
