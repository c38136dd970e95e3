import type { DescMessage } from '@bufbuild/protobuf'
import type { RemoteCall, RemoteStream } from '../client/connection/transport.ts'
import type { OperationName } from '../model/requests.ts'
import { isStreaming, OPERATION_NAMES, OPERATIONS } from '../operations.ts'
import { codecFor } from '../wire/codec-for.ts'
import type { Codec } from '../wire/codec.ts'
import type { ProtocolVersion } from '../wire/versions.ts'
import { serviceOf } from './messages.ts'

/** A method of a service. */
export interface GrpcMethod {
  readonly operation: OperationName
  readonly isStreaming: boolean
  readonly codec: Codec
  /** `/service/method`. */
  readonly path: string
  readonly request: DescMessage
  readonly response: DescMessage
}

const found = new Map<ProtocolVersion, ReadonlyMap<string, GrpcMethod>>()

/** The methods of the operation table in a version, by name. */
export function methodsOf(version: ProtocolVersion): ReadonlyMap<string, GrpcMethod> {
  const known = found.get(version)
  if (known !== undefined) return known
  const methods = findMethods(version)
  found.set(version, methods)
  return methods
}

/** The method of an operation; each version has those that clients call. */
export function methodOf(version: ProtocolVersion, operation: RemoteCall | RemoteStream): GrpcMethod {
  return methodsOf(version).get(OPERATIONS[operation].grpc[version]!)!
}

function findMethods(version: ProtocolVersion): ReadonlyMap<string, GrpcMethod> {
  const codec = codecFor(version, 'grpc')
  const service = serviceOf(codec.grpcService)
  const methods = new Map<string, GrpcMethod>()
  for (const operation of OPERATION_NAMES) {
    const name = OPERATIONS[operation].grpc[version]
    if (name === undefined) continue
    const { input: request, output: response } = service.methods.find((each) => each.name === name)!
    const path = `/${service.typeName}/${name}`
    methods.set(name, { operation, isStreaming: isStreaming(operation), codec, path, request, response })
  }
  return methods
}
