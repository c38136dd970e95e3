import type { Message } from '../../model/message.ts'
import type { TaskEvent, TaskState } from '../../model/task.ts'
import type { ClientCodec } from '../codec.ts'
import { createAnswerDecoder } from '../decode-answer.ts'
import { fromProtoJson } from '../proto-json.ts'
import { badAnswer, fields, id } from '../read-answer.ts'
import { codecV03 } from './codec.ts'
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

/** Versions 0.2.x and 0.3 on the client's side, over JSON-RPC. */
export const clientV03: ClientCodec = {
  version: codecV03.version,
  mediaType: codecV03.mediaType,
  extensionHeader: codecV03.extensionHeader,
  hasTenants: codecV03.hasTenants,
  headers: {},
  encodeSend,
  toGrpcRequest: (params) => params,
  decodeAnswer
}

const decode = createAnswerDecoder({
  userRole: 'user',
  content: 'parts',
  decodeState: (name) => (STATES.has(name) ? (name as TaskState) : undefined),
  decodePart
})

function encodeSend(message: Message): Record<string, unknown> {
  return { message: encodeMessage(message) }
}

function decodeAnswer(answer: unknown): TaskEvent {
  const event = fields(fromProtoJson(answer))
  const { taskId, contextId } = event
  switch (event['kind']) {
    case 'task':
      return { type: 'task', task: decode.task(event) }
    case 'message':
      return { type: 'message', message: decode.message(event) }
    case 'status-update':
      return {
        type: 'status',
        taskId: id(taskId),
        contextId: id(contextId),
        status: decode.status(event['status'])
      }
    case 'artifact-update':
      return {
        type: 'artifact',
        taskId: id(taskId),
        contextId: id(contextId),
        artifact: decode.artifact(event['artifact']),
        append: event['append'] === true,
        lastChunk: event['lastChunk'] === true
      }
    default:
      throw badAnswer('its kind is unknown')
  }
}
