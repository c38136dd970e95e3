import type { AgentCard, ProtocolVersion } from '../model/agent-card.ts'
import type { Message } from '../model/message.ts'
import type { OperationName, Requests, Results } from '../model/requests.ts'
import type { TaskEvent } from '../model/task.ts'
import type { Fault } from './to-fault.ts'

/** What a version of the protocol looks like on one of its bindings: neutral requests, results and errors ↔ plain JSON. */
export interface Codec {
  readonly version: ProtocolVersion
  /** @throws A2A_ERR_BAD_PARAMS */
  readonly decode: { readonly [O in OperationName]: (params: Record<string, unknown>) => Requests[O] }
  /** The tenant that parameters name which are good otherwise; before 1.0 there is none. */
  tenantOf(params: Record<string, unknown>): string | undefined
  readonly encode: { readonly [O in OperationName]: (result: Results[O]) => unknown }
  /** An event, as a stream or a push notification tells it. */
  encodeEvent(event: TaskEvent): object
  encodeCard(card: AgentCard): object
  /** The `error` member of a JSON-RPC response. */
  encodeRpcError(fault: Fault): object
  /** The body of an HTTP+JSON error. */
  encodeRestError(fault: Fault): object
}

/** What a client of a version sends, and how it reads what it is answered. */
export interface ClientCodec {
  encodeSend(message: Message): object
  /** @throws A2A_ERR_BAD_ANSWER, A2A_ERR_BAD_PARAMS */
  decodeAnswer(answer: unknown): TaskEvent
}
