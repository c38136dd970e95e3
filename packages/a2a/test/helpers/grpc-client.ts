import { fromBinary } from '@bufbuild/protobuf'
import type { Any } from '@bufbuild/protobuf/wkt'
import {
  ChannelCredentials,
  Client,
  Metadata,
  type CallOptions,
  type ChannelOptions,
  type ClientReadableStream,
  type ServiceError
} from '@grpc/grpc-js'
import { methodsOf } from '../../src/grpc/server/add-service.ts'
import { decodeMessage, encodeMessage, messageOf } from '../../src/grpc/messages.ts'
import type { ProtocolVersion } from '../../src/wire/versions.ts'

type Json = Record<string, unknown>

/** How a method is called. */
export interface GrpcCallOptions extends CallOptions {
  metadata?: Record<string, string>
  /** Receives the initial metadata. */
  onMetadata?(metadata: Metadata): void
  /** Calls back once the call is under way, to cancel it. */
  onCall?(call: { cancel(): void }): void
}

/** A bare client: messages as JSON, or as bytes. */
export interface GrpcTestClient {
  call(method: string, params: object, options?: GrpcCallOptions): Promise<Json>
  /** The events of a stream. */
  stream(method: string, params: object, options?: GrpcCallOptions): Promise<Json[]>
  open(method: string, params: object, options?: GrpcCallOptions): ClientReadableStream<Json>
  /** Sends bytes in the place of a message. */
  send(method: string, bytes: Buffer): Promise<unknown>
}

/** The `host:port` of gRPC on the card. */
export async function grpcUrlOf(origin: string): Promise<string> {
  const response = await fetch(`${origin}/.well-known/agent-card.json`, { headers: { 'a2a-version': '1.0' } })
  const { supportedInterfaces } = (await response.json()) as {
    supportedInterfaces: { url: string; protocolBinding: string }[]
  }
  return supportedInterfaces.find(({ protocolBinding }) => protocolBinding === 'GRPC')!.url
}

/** Connects to a service, until the test ends. */
export function connectGrpc(
  t: { teardown(fn: () => unknown): unknown },
  url: string,
  version: ProtocolVersion = '1.0',
  credentials = ChannelCredentials.createInsecure(),
  channel: ChannelOptions = {}
): GrpcTestClient {
  const client = new Client(url, credentials, channel)
  t.teardown(() => client.close())
  const methods = methodsOf(version)
  const named = (name: string) => methods.get(name)!
  const asIs = (bytes: Buffer) => bytes
  const open: GrpcTestClient['open'] = (name, params, options = {}) => {
    const { path, request, response } = named(name)
    const call = client.makeServerStreamRequest<object, Json>(
      path,
      (json) => encodeMessage(request, json),
      (bytes) => decodeMessage(response, bytes, 1000),
      params,
      toMetadata(options),
      options
    )
    if (options.onMetadata) call.on('metadata', options.onMetadata)
    options.onCall?.(call)
    return call
  }
  return {
    open,
    stream: (name, params, options) => Array.fromAsync<Json>(open(name, params, options)),
    call: (name, params, options = {}) =>
      new Promise((resolve, reject) => {
        const { path, request, response } = named(name)
        const call = client.makeUnaryRequest<object, Json>(
          path,
          (json) => encodeMessage(request, json),
          (bytes) => decodeMessage(response, bytes, 1000),
          params,
          toMetadata(options),
          options,
          (err, answer) => (err === null ? resolve(answer!) : reject(err))
        )
        if (options.onMetadata) call.on('metadata', options.onMetadata)
        options.onCall?.(call)
      }),
    async send(name, bytes) {
      const { path, isStreaming, response } = named(name)
      if (isStreaming)
        return Array.fromAsync(
          client.makeServerStreamRequest(path, asIs, asIs, bytes) as AsyncIterable<Buffer>
        )
      return new Promise((resolve, reject) => {
        client.makeUnaryRequest(path, asIs, asIs, bytes, (err, answer) =>
          err === null ? resolve(decodeMessage(response, answer!, 1000)) : reject(err)
        )
      })
    }
  }
}

function toMetadata({ metadata = {} }: GrpcCallOptions): Metadata {
  const all = new Metadata()
  for (const [name, value] of Object.entries(metadata)) all.set(name, value)
  return all
}

/** The details of an error, each with its type. */
export function detailsOf({ metadata }: ServiceError): Json[] {
  const [bytes] = metadata.get('grpc-status-details-bin')
  const { details } = fromBinary(messageOf('google.rpc.Status'), bytes as Buffer) as unknown as {
    details: Any[]
  }
  return details.map(({ typeUrl, value }) => {
    const name = typeUrl.replace('type.googleapis.com/', '')
    return { type: name.replace('google.rpc.', ''), ...decodeMessage(messageOf(name), value, 9) }
  })
}

/** The error of a call. */
export async function failureOf(call: Promise<unknown>): Promise<ServiceError> {
  try {
    await call
  } catch (err) {
    return err as ServiceError
  }
  throw new Error('the call did not fail')
}
