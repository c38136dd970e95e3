import type { Message } from '../../model/message.ts'
import type { TaskEvent, TaskState } from '../../model/task.ts'
import type { ClientCodec } from '../codec.ts'
import { createAnswerDecoder } from '../decode-answer.ts'
import { badAnswer, fields, findInterface, id, list, type Fields } from '../read-answer.ts'
import { EXTENSION_HEADER } from './codec.ts'
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

/** Versions 0.2.x and 0.3, on the client's side. */
export const clientV03: ClientCodec = {
  version: '0.3',
  extensionHeader: EXTENSION_HEADER,
  headers: {},
  findEndpoint,
  encodeSend,
  decodeAnswer
}

const decode = createAnswerDecoder({
  userRole: 'user',
  decodeState: (name) => (STATES.has(name) ? (name as TaskState) : undefined),
  decodePart
})

// A card of 1.0 may list this version too; an older card has one URL, and others by their transport.
function findEndpoint(card: Fields): { url: unknown; tenant?: string } {
  const found = findInterface(card, '0.3')
  if (found !== undefined) return found
  const { url, preferredTransport, additionalInterfaces } = card
  if (preferredTransport === undefined || preferredTransport === 'JSONRPC') return { url }
  const other = list(additionalInterfaces)
    .map(fields)
    .find(({ transport }) => transport === 'JSONRPC')
  return { url: other?.['url'] }
}

function encodeSend(message: Message): object {
  return { message: encodeMessage(message) }
}

function decodeAnswer(answer: unknown): TaskEvent {
  const event = fields(answer)
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
