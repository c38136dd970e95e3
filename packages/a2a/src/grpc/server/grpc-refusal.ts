import { Metadata, status as codes, type StatusObject } from '@grpc/grpc-js'
import { takeFault } from '../../bindings/binding.ts'
import type { Caller } from '../../model/requests.ts'
import type { Codec } from '../../wire/codec.ts'
import { ERROR_MESSAGES } from '../../wire/proto-for.ts'
import { compileMessages } from '../protobuf/compile-messages.ts'
import { MetadataAnswer } from './grpc-caller.ts'

const typeOf = compileMessages({ messages: ERROR_MESSAGES, enums: {} })

/** Turns an error into the status of a call, and logs it. */
export function toRefusal(err: unknown, codec: Codec, caller: Pick<Caller, 'log' | 'headers'>): StatusObject {
  const answer = new MetadataAnswer(() => new Metadata())
  const { code, message, details } = codec.encodeGrpcError(takeFault(err, caller, answer))
  const metadata = answer.metadata ?? new Metadata()
  const status = typeOf('Status').encode({
    code: codes[code],
    message,
    details: details.map(({ '@type': typeUrl, ...detail }) => ({
      typeUrl,
      value: typeOf(typeUrl.slice(typeUrl.lastIndexOf('.') + 1))
        .encode(detail)
        .toString('base64')
    }))
  })
  metadata.set('grpc-status-details-bin', status)
  return { code: codes[code], details: message, metadata }
}
