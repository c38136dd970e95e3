import type { ClientCodec, Codec } from './codec.ts'
import { clientV03 } from './v0.3/answers.ts'
import { codecV03 } from './v0.3/codec.ts'
import { grpcCodecV03 } from './v0.3/grpc-codec.ts'
import { restClientV03 } from './v0.3/rest-answers.ts'
import { restCodecV03 } from './v0.3/rest-codec.ts'
import { clientV10 } from './v1.0/answers.ts'
import { codecV10 } from './v1.0/codec.ts'
import { findVersion, PROTOCOL_VERSIONS, toDefaultVersion, type ProtocolVersion } from './versions.ts'

/** How a request travels: JSON-RPC, HTTP+JSON or gRPC. */
export type BindingName = 'rpc' | 'rest' | 'grpc'

const CODECS: Readonly<Record<ProtocolVersion, Readonly<Record<BindingName, Codec>>>> = {
  '0.3': { rpc: codecV03, rest: restCodecV03, grpc: grpcCodecV03 },
  '1.0': { rpc: codecV10, rest: codecV10, grpc: codecV10 }
}
/** The JSON of answers; over gRPC it is that of HTTP+JSON. */
type JsonForm = Exclude<BindingName, 'grpc'>

const CLIENTS: Readonly<Record<ProtocolVersion, Readonly<Record<JsonForm, ClientCodec>>>> = {
  '0.3': { rpc: clientV03, rest: restClientV03 },
  '1.0': { rpc: clientV10, rest: clientV10 }
}

/** The codec of a version on a binding. */
export function codecFor(version: ProtocolVersion, binding: BindingName): Codec {
  return CODECS[version][binding]
}

/** The codec of stored push notifications; without a version, as early releases stored them, that of the oldest. */
export function pushCodecFor(version: string | undefined): Codec {
  const known = version === undefined ? undefined : findVersion(version, PROTOCOL_VERSIONS)
  return codecFor(known ?? toDefaultVersion(PROTOCOL_VERSIONS), 'rpc')
}

/** The client's codec of a version in the JSON of a binding. */
export function clientCodecFor(version: ProtocolVersion, form: JsonForm): ClientCodec {
  return CLIENTS[version][form]
}

/** The media types of requests, of every version. */
export const MEDIA_TYPES: readonly string[] = [
  'application/json',
  ...PROTOCOL_VERSIONS.flatMap((version) => codecFor(version, 'rest').mediaType ?? [])
]
