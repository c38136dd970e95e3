import type { TaskEvent } from '../model/task.ts'
import type { AnswerDecoder } from './decode-answer.ts'
import { fromProtoJson } from './proto-json.ts'
import { fields, id } from './read-answer.ts'

/** Decodes an answer of the proto: the name of its one member discriminates it. @throws A2A_ERR_BAD_ANSWER */
export function decodeProtoAnswer(decode: AnswerDecoder, answer: unknown): TaskEvent {
  const { task, message, statusUpdate, artifactUpdate, ...bare } = fields(fromProtoJson(answer))
  if (task !== undefined) return { type: 'task', task: decode.task(fields(task)) }
  if (message !== undefined) return { type: 'message', message: decode.message(fields(message)) }
  if (statusUpdate !== undefined) {
    const { taskId, contextId, status } = fields(statusUpdate)
    return { type: 'status', taskId: id(taskId), contextId: id(contextId), status: decode.status(status) }
  }
  // The operations on a task answer with a bare one.
  if (artifactUpdate === undefined) return { type: 'task', task: decode.task(bare) }
  const { taskId, contextId, artifact, append, lastChunk } = fields(artifactUpdate)
  return {
    type: 'artifact',
    taskId: id(taskId),
    contextId: id(contextId),
    artifact: decode.artifact(artifact),
    append: append === true,
    lastChunk: lastChunk === true
  }
}
