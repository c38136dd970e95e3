import type { AgentCard } from '../model/agent-card.ts'
import type { Message } from '../model/message.ts'
import type { OperationName, Requests, Results } from '../model/requests.ts'
import type { TaskEvent } from '../model/task.ts'
import type { GrpcStatus } from './grpc-status.ts'
import type { Fault } from './to-fault.ts'
import type { ProtocolVersion } from './versions.ts'

/** Facts of a version that bindings, routes and handlers go by. */
export interface VersionTraits {
  readonly version: ProtocolVersion
  /** The version's own media type; undefined: `application/json` alone. */
  readonly mediaType: string | undefined
  /** The header that names extensions, in requests and in answers. */
  readonly extensionHeader: string
  /** True if a request can name one agent as its tenant. */
  readonly hasTenants: boolean
  /** True if a subscription ends when its task waits for input, and one to a finished task gives the task once. */
  readonly endsWhenWaiting: boolean
  /** True if the absence of an extended card is an error of its own. */
  readonly hasNoCardError: boolean
  /** True if clients that accept only an event stream read a refused subscription as its one event. */
  readonly streamsRefusals: boolean
  /** What a push notification carries: the task at each change of its state, or each event. */
  readonly pushes: 'task' | 'event'
  /** A second path of the extended card, beside the endpoint. */
  readonly extendedCardPath: string | undefined
  /** The full name of the service over gRPC. */
  readonly grpcService: string
}

/** One version on one binding: neutral requests, results and errors ↔ plain JSON. */
export interface Codec extends VersionTraits {
  /** @throws A2A_ERR_BAD_PARAMS */
  readonly decode: { readonly [O in OperationName]: (params: Record<string, unknown>) => Requests[O] }
  /** The tenant that valid parameters name. */
  tenantOf(params: Record<string, unknown>): string | undefined
  readonly encode: { readonly [O in OperationName]: (result: Results[O]) => unknown }
  /** An event of a stream or a push notification. */
  readonly encodeEvent: (event: TaskEvent) => object
  encodeCard(card: AgentCard): object
  /** The `error` member of a JSON-RPC response. */
  encodeRpcError(fault: Fault): object
  /** The status of an HTTP+JSON error. */
  restStatusOf(fault: Fault): number
  /** The body of an HTTP+JSON error. */
  encodeRestError(fault: Fault): object
  encodeGrpcError(fault: Fault): GrpcStatus
}

/** A version on one binding, from the client's side. */
export interface ClientCodec extends Pick<VersionTraits, ClientTrait> {
  /** Headers of every request. */
  readonly headers: Readonly<Record<string, string>>
  /** The parameters of a message. */
  encodeSend(message: Message): Record<string, unknown>
  /** The message of a request over gRPC, from the parameters over HTTP+JSON. */
  toGrpcRequest(params: Readonly<Record<string, unknown>>): object
  /** @throws A2A_ERR_BAD_ANSWER, A2A_ERR_BAD_PARAMS */
  decodeAnswer(answer: unknown): TaskEvent
}

type ClientTrait = 'version' | 'mediaType' | 'extensionHeader' | 'hasTenants'
