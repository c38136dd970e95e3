import type { Message } from '../../model/message.ts'
import type { TaskEvent } from '../../model/task.ts'
import type { ClientCodec } from '../codec.ts'
import { createAnswerDecoder } from '../decode-answer.ts'
import { fields, findInterface, id } from '../read-answer.ts'
import { decodeState } from '../states.ts'
import { EXTENSION_HEADER } from './codec.ts'
import { decodePart, encodeMessage } from './message.ts'

/** Version 1.0.x, on the client's side. */
export const clientV10: ClientCodec = {
  version: '1.0',
  extensionHeader: EXTENSION_HEADER,
  headers: { 'a2a-version': '1.0' },
  findEndpoint: (card) => findInterface(card, '1.0'),
  encodeSend,
  decodeAnswer
}

const decode = createAnswerDecoder({ userRole: 'ROLE_USER', decodeState, decodePart })

function encodeSend(message: Message): object {
  return { message: encodeMessage(message) }
}

function decodeAnswer(answer: unknown): TaskEvent {
  const { task, message, statusUpdate, artifactUpdate, ...bare } = fields(answer)
  if (task !== undefined) return { type: 'task', task: decode.task(fields(task)) }
  if (message !== undefined) return { type: 'message', message: decode.message(fields(message)) }
  if (statusUpdate !== undefined) {
    const { taskId, contextId, status } = fields(statusUpdate)
    return { type: 'status', taskId: id(taskId), contextId: id(contextId), status: decode.status(status) }
  }
  // GetTask and CancelTask answer with a bare task.
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
