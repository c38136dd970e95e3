import type { Message } from '../../model/message.ts'
import type { ClientCodec } from '../codec.ts'
import { createAnswerDecoder } from '../decode-answer.ts'
import { decodeProtoAnswer } from '../decode-proto-answer.ts'
import { decodeState } from '../states.ts'
import { clientV03 } from './answers.ts'
import { decodePart } from './message.ts'
import { encodeRestMessage, toRpcPart } from './rest-message.ts'

const decode = createAnswerDecoder({
  userRole: 'ROLE_USER',
  content: 'content',
  decodeState: (name) => (name === 'TASK_STATE_CANCELLED' ? 'canceled' : decodeState(name)),
  decodePart: (part, field) => decodePart(toRpcPart(part, field), field)
})

/** Version 0.3 on the client's side, in the JSON of its proto. */
export const restClientV03: ClientCodec = {
  ...clientV03,
  encodeSend,
  toGrpcRequest,
  decodeAnswer: (answer) => decodeProtoAnswer(decode, answer)
}

// Names of resources are in the place of ids.
function toGrpcRequest({ id, ...params }: Readonly<Record<string, unknown>>): object {
  return id === undefined ? params : { ...params, name: `tasks/${id as string}` }
}

function encodeSend(message: Message): Record<string, unknown> {
  return { message: encodeRestMessage(message) }
}
