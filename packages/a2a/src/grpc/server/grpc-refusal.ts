import { Metadata, status as codes, type StatusObject } from '@grpc/grpc-js'
import { takeFault } from '../../bindings/binding.ts'
import type { Caller } from '../../model/requests.ts'
import type { Codec } from '../../wire/codec.ts'
import { encodeMessage, messageOf } from '../messages.ts'
import { MetadataAnswer } from './grpc-caller.ts'

const Status = messageOf('google.rpc.Status')

/** Turns an error into the status of a call, and logs it. */
export function toRefusal(err: unknown, codec: Codec, caller: Pick<Caller, 'log' | 'headers'>): StatusObject {
  const answer = new MetadataAnswer(() => new Metadata())
  const { code, message, details } = codec.encodeGrpcError(takeFault(err, caller, answer))
  const metadata = answer.metadata ?? new Metadata()
  metadata.set('grpc-status-details-bin', encodeMessage(Status, { code: codes[code], message, details }))
  return { code: codes[code], details: message, metadata }
}
