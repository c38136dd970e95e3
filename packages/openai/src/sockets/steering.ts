import { Type, type Static } from '@sinclair/typebox'
import { checkOf, randomId } from '@svc/contract'
import type { ResponseBuilder } from '../responses/response-builder.ts'
import type { InputItem } from '../responses/response-schemas.ts'

const partOf = <const T extends string>(type: T) => Type.Object({ type: Type.Literal(type) })
const SteerSchema = Type.Object(
  {
    type: Type.Literal('response.steer'),
    previous_response_id: Type.String(),
    input: Type.Union([
      Type.String({ minLength: 1 }),
      Type.Array(
        Type.Object(
          {
            type: Type.Optional(Type.Literal('message')),
            role: Type.Literal('user'),
            content: Type.Union([
              Type.String({ minLength: 1 }),
              Type.Array(Type.Union([partOf('input_text'), partOf('input_image'), partOf('input_file')]), {
                minItems: 1
              })
            ])
          },
          { additionalProperties: false }
        ),
        { minItems: 1, maxItems: 100 }
      )
    ])
  },
  { additionalProperties: false }
)
const isSteer = checkOf(SteerSchema)

/** A message for the response after the one under way, as a client has sent it. */
export interface SentSteer {
  readonly previous_response_id: unknown
  readonly input: unknown
}

/** A message that was accepted. */
export interface AcceptedSteer extends Static<typeof SteerSchema> {
  readonly id: string
  /** Of its frame. */
  readonly bytes: number
  /** True if the client knows that it waits for inputs. */
  readonly isPending?: boolean
}

/** Why a message is not delivered. */
type SteerErrorCode =
  | 'invalid_input'
  | 'response_already_completed'
  | 'response_not_active'
  | 'response_not_found'
  | 'steering_not_supported'
  | 'successor_creation_failed'
  | 'too_many_pending_steers'

const REASONS: Readonly<Record<SteerErrorCode, string>> = {
  invalid_input: 'It takes previous_response_id and input, a text or messages of the user',
  response_already_completed: 'The response is over: send the message with response.create',
  response_not_active: 'The response takes no messages any more: send it with response.create',
  response_not_found: 'No response of this connection has this id',
  steering_not_supported: 'Responses in a conversation are not steered: send it with response.create',
  successor_creation_failed: 'The response with the message could not be created',
  too_many_pending_steers: 'Too many messages wait for the response'
}

/** True if an event steers, valid or not. */
export function isSteering(value: unknown): value is SentSteer & { readonly type: 'response.steer' } {
  return (value as { readonly type?: unknown } | null)?.type === 'response.steer'
}

/** Accepts a message; undefined if it is invalid. @param bytes of its frame */
export function readSteer(sent: SentSteer, bytes: number): AcceptedSteer | undefined {
  return isSteer(sent) ? { ...sent, id: `steer_${randomId()}`, bytes } : undefined
}

/** The items of messages, in their order. */
export function toSteeredItems(steers: readonly AcceptedSteer[]): InputItem[] {
  return steers.flatMap(({ input }) =>
    (typeof input === 'string' ? [{ content: input }] : input).map(({ content }) => ({
      type: 'message',
      role: 'user',
      content
    }))
  )
}

/** The event that a message was accepted. It is the first one of its submission. */
export function toAccepted({ id, previous_response_id }: AcceptedSteer): object {
  return { type: 'response.steer.accepted', sequence_number: 0, steer: { id, previous_response_id } }
}

/** The event that a message waits until the response, which is over, has its inputs. */
export function toPending(
  { id, previous_response_id }: AcceptedSteer,
  { calls, output }: Pick<ResponseBuilder, 'calls' | 'output'>
): object {
  const required_input = output.flatMap((item) => {
    if (item.type === 'function_call' && calls.asked.has(item.call_id))
      return { type: 'function_call_output', call_id: item.call_id, name: item.name }
    const isApproval = item.type === 'mcp_approval_request' && calls.approvals.has(item.id)
    return isApproval ? { type: 'mcp_approval_response', approval_request_id: item.id } : []
  })
  return {
    type: 'response.steer.pending',
    sequence_number: 1,
    reason: 'waiting_for_required_input',
    steer: { id, previous_response_id },
    required_input
  }
}

/** The event that a message is not delivered, which returns it. @param cause default: what the code stands for */
export function toSteerFailure(
  steer: SentSteer | AcceptedSteer,
  code: SteerErrorCode,
  cause?: string
): object {
  const { previous_response_id, input } = steer
  const isAccepted = 'bytes' in steer
  return {
    type: 'response.steer.failed',
    sequence_number: isAccepted ? (steer.isPending === true ? 2 : 1) : 0,
    steer: { previous_response_id, input, ...(isAccepted && { id: steer.id }) },
    error: { type: 'invalid_request_error', code, message: cause ?? REASONS[code] }
  }
}

/** Responses that wait for inputs and have messages, at most. */
const MAX_PENDING = 16

/** The messages of a connection that are not delivered yet. */
export class HeldSteers {
  readonly #maxBytes: number
  // By the response that waits for inputs.
  readonly #pending = new Map<string, readonly AcceptedSteer[]>()
  #bytes = 0

  /** @param maxBytes of all of them */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /** Has a message from now on; false if there is no room. */
  add({ bytes }: AcceptedSteer): boolean {
    if (this.#bytes + bytes > this.#maxBytes) return false
    this.#bytes += bytes
    return true
  }

  /** Messages are delivered, or have come back. */
  remove(steers: readonly AcceptedSteer[]): void {
    for (const { bytes } of steers) this.#bytes -= bytes
  }

  /** Keeps messages until a request continues a response; returns those for which there is no room any more. */
  suspend(responseId: string, steers: readonly AcceptedSteer[]): readonly AcceptedSteer[] {
    this.#pending.set(responseId, steers)
    if (this.#pending.size <= MAX_PENDING) return []
    const [oldest] = this.#pending.keys()
    return this.resume(oldest!)
  }

  /** The messages of a response that is continued. */
  resume(responseId: string): readonly AcceptedSteer[] {
    const steers = this.#pending.get(responseId) ?? []
    this.#pending.delete(responseId)
    return steers
  }
}
