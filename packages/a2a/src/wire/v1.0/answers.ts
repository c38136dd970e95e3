import type { Message } from '../../model/message.ts'
import type { ClientCodec } from '../codec.ts'
import { createAnswerDecoder } from '../decode-answer.ts'
import { decodeProtoAnswer } from '../decode-proto-answer.ts'
import { decodeState } from '../states.ts'
import { codecV10 } from './codec.ts'
import { decodePart, encodeMessage } from './message.ts'

/** Version 1.0.x on the client's side, the same on every binding. */
export const clientV10: ClientCodec = {
  version: codecV10.version,
  mediaType: codecV10.mediaType,
  extensionHeader: codecV10.extensionHeader,
  hasTenants: codecV10.hasTenants,
  headers: { 'a2a-version': '1.0' },
  encodeSend,
  toGrpcRequest: (params) => params,
  decodeAnswer: (answer) => decodeProtoAnswer(decode, answer)
}

const decode = createAnswerDecoder({ userRole: 'ROLE_USER', content: 'parts', decodeState, decodePart })

function encodeSend(message: Message): Record<string, unknown> {
  return { message: encodeMessage(message) }
}
