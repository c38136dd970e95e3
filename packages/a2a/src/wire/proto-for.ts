import type { ProtoMessages, ProtoTable } from './proto-table.ts'
import { PROTO_V03, toNames } from './v0.3/proto.ts'
import { PROTO_V10 } from './v1.0/proto.ts'
import type { ProtocolVersion } from './versions.ts'

const TABLES: Readonly<Record<ProtocolVersion, ProtoTable>> = { '0.3': PROTO_V03, '1.0': PROTO_V10 }

/** What a version sends over gRPC. */
export function protoFor(version: ProtocolVersion): ProtoTable {
  return TABLES[version]
}

/**
 * The messages of errors, the same in all versions.
 * @see https://github.com/googleapis/googleapis/blob/master/google/rpc/error_details.proto
 */
export const ERROR_MESSAGES: ProtoMessages = {
  Status: { code: [1, 'int32'], message: [2, 'string'], details: [3, 'Any[]'] },
  Any: { typeUrl: [1, 'string'], value: [2, 'bytes'] },
  ErrorInfo: { reason: [1, 'string'], domain: [2, 'string'], metadata: [3, 'string{}'] },
  BadRequest: { fieldViolations: [1, 'FieldViolation[]'] },
  FieldViolation: { field: [1, 'string'], description: [2, 'string'] },
  RetryInfo: { retryDelay: [1, 'Duration'] },
  Duration: { seconds: [1, 'int32'] }
}

const TO_PARAMS: Readonly<Record<ProtocolVersion, typeof toNames>> = {
  '0.3': toNames,
  '1.0': (params) => params
}

/** A client's parameters in the words of the messages, from those of HTTP+JSON. */
export function toGrpcParams(version: ProtocolVersion, params: Readonly<Record<string, unknown>>): object {
  return TO_PARAMS[version](params)
}
