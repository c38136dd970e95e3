import type { RemoteCall, RemoteStream } from '../client/connection/transport.ts'
import type { OperationName } from '../model/requests.ts'
import { isStreaming, OPERATION_NAMES, OPERATIONS } from '../operations.ts'
import { codecFor } from '../wire/codec-for.ts'
import type { Codec } from '../wire/codec.ts'
import { protoFor } from '../wire/proto-for.ts'
import type { ProtocolVersion } from '../wire/versions.ts'
import { compileMessages, type MessageType } from './protobuf/compile-messages.ts'

/** A method of a service. */
export interface GrpcMethod {
  readonly operation: OperationName
  readonly isStreaming: boolean
  readonly codec: Codec
  /** `/service/method`. */
  readonly path: string
  readonly request: MessageType
  readonly response: MessageType
}

const compiled = new Map<ProtocolVersion, ReadonlyMap<string, GrpcMethod>>()

/** The methods of the operation table in a version, by name. */
export function methodsOf(version: ProtocolVersion): ReadonlyMap<string, GrpcMethod> {
  const known = compiled.get(version)
  if (known !== undefined) return known
  const methods = compileMethods(version)
  compiled.set(version, methods)
  return methods
}

/** The method of an operation; each version has those that clients call. */
export function methodOf(version: ProtocolVersion, operation: RemoteCall | RemoteStream): GrpcMethod {
  return methodsOf(version).get(OPERATIONS[operation].grpc[version]!)!
}

function compileMethods(version: ProtocolVersion): ReadonlyMap<string, GrpcMethod> {
  const table = protoFor(version)
  const typeOf = compileMessages(table)
  const methods = new Map<string, GrpcMethod>()
  for (const operation of OPERATION_NAMES) {
    const name = OPERATIONS[operation].grpc[version]
    if (name === undefined) continue
    const [request, response] = table.methods[name]!
    methods.set(name, {
      operation,
      isStreaming: isStreaming(operation),
      codec: codecFor(version, 'grpc'),
      path: `/${table.service}/${name}`,
      request: typeOf(request),
      response: typeOf(response)
    })
  }
  return methods
}
