import { defined } from './json.ts'
import { Type, type Static, type TSchema } from '@sinclair/typebox'
import { InputActionSchema, type InputAction, type PartOf, type TextContentPartSchema } from './part.ts'
import type { Secret } from './principal.ts'

/** A pending approval; large arguments are cut to a preview. */
export const PendingApprovalSchema = Type.Object(
  {
    approvalId: Type.String(),
    runId: Type.String(),
    toolCallId: Type.String(),
    toolName: Type.String(),
    args: Type.Optional(Type.Unknown({ description: 'Omitted if their JSON exceeds 4 KiB' })),
    argsPreview: Type.Optional(Type.String({ description: 'The beginning of the JSON of larger ones' })),
    argsBytes: Type.Integer({ description: 'Size of their JSON in bytes' }),
    expiresAt: Type.String({ format: 'date-time' }),
    source: Type.Optional(Type.Array(Type.String()))
  },
  { title: 'PendingApproval' }
)
export type PendingApproval = Static<typeof PendingApprovalSchema>

/** An answer to an approval: approve, deny with a reason, or approve with edited arguments. */
export const ApprovalAnswerSchema = Type.Object(
  {
    approved: Type.Boolean(),
    reason: Type.Optional(Type.String({ maxLength: 4096 })),
    args: Type.Optional(
      Type.Unsafe<Record<string, unknown>>(
        // Else clients made from the document could give none.
        Type.Object(
          {},
          { additionalProperties: true, description: 'The edited arguments, complete; default: unchanged' }
        )
      )
    )
  },
  { title: 'ApprovalAnswer', additionalProperties: false }
)
export type ApprovalAnswer = Static<typeof ApprovalAnswerSchema>

/** What an approval is asked for. */
export interface ApprovalRequest {
  toolCallId: string
  toolName: string
  args: unknown
  /** Milliseconds until the approval counts as denied; default 300,000, at most 2,147,483,647. */
  timeout?: number
  /**
   * True if a resumed run requests the same approval again. While a resumable run waits for nothing else and runs no step, it may
   * leave memory until the answer resumes it. Default false.
   */
  durable?: boolean
}

/** The outcome of an approval; `expired` if no answer came in time. */
export interface ApprovalOutcome extends ApprovalAnswer {
  expired?: boolean
}

/** Requests approvals; the engine records the request, the answer and the state of the run. */
export interface Approvals {
  /** Resolves with the answer. @throws the reason of the run's signal if the run ends first */
  request(request: ApprovalRequest): Promise<ApprovalOutcome>
}

/** The outcome of an input that is an approval. */
export function toApprovalOutcome({ action, content, reason, expired }: InputOutcome): ApprovalOutcome {
  return {
    approved: action === 'accept',
    ...(reason !== undefined && { reason }),
    ...(content !== undefined && { args: content as Record<string, unknown> }),
    ...(expired && { expired })
  }
}

/** The answer to an approval as that of an input. */
export function fromApprovalAnswer({ approved, reason, args }: ApprovalAnswer): InputOutcome {
  return { action: approved ? 'accept' : 'decline', ...defined({ content: args, reason }) }
}

/** What a run waits for: an approval, or what an `input.request` asks for. */
export type InputKind = 'approval' | PartOf<'input.request'>['kind']

/** A pending question, client tool or request for credentials; large arguments are cut to a preview. Approvals are listed apart. */
export const PendingInputSchema = Type.Object(
  {
    inputId: Type.String(),
    runId: Type.String(),
    kind: Type.Union([Type.Literal('question'), Type.Literal('tool'), Type.Literal('auth')]),
    message: Type.Optional(Type.String({ description: 'The question, or for what credentials are needed' })),
    schema: Type.Optional(Type.Unknown({ description: 'JSON Schema of the content of the answer' })),
    toolCallId: Type.Optional(Type.String()),
    toolName: Type.Optional(Type.String()),
    args: Type.Optional(Type.Unknown({ description: 'Omitted if their JSON exceeds 4 KiB' })),
    argsPreview: Type.Optional(Type.String({ description: 'The beginning of the JSON of larger ones' })),
    argsBytes: Type.Integer({ description: 'Size of their JSON in bytes' }),
    expiresAt: Type.String({ format: 'date-time' }),
    source: Type.Optional(Type.Array(Type.String()))
  },
  { title: 'PendingInput' }
)
export type PendingInput = Static<typeof PendingInputSchema>

/** An answer to a question or to a request for credentials, or the outcome of a client tool. */
export const InputAnswerSchema = Type.Object(
  {
    action: InputActionSchema,
    content: Type.Optional(
      Type.Unknown({
        description:
          'With `accept` only: fits the schema of the question, is the result of the tool, or the credentials, which are stored nowhere'
      })
    )
  },
  { title: 'InputAnswer', additionalProperties: false }
)
export type InputAnswer = Static<typeof InputAnswerSchema>

/** What became of an input. */
export interface InputOutcome extends InputAnswer {
  /** Why an approval was denied. */
  reason?: string
  /** True if no answer came in time; `action` is then `cancel`. */
  expired?: boolean
  /** The whole answer, encrypted to the `sealKey` of its input, until the process that has the run replaces it. */
  sealed?: string
  /** True for credentials: their content is in no store, so that a restart loses it. */
  secret?: true
}

/** Options of every wait for an answer. */
export interface Wait {
  /** Milliseconds, at most 2,147,483,647. */
  timeout?: number
  /** As in `ApprovalRequest`. */
  durable?: boolean
}

/** A question to the caller of the run; `timeout` is 24 hours by default. */
export interface Question<S extends TSchema = TSchema> extends Wait {
  /** At most 4,096 characters. */
  message: string
  /**
   * JSON Schema of the answer's content, at most 16,384 characters. An answer that does not fit is refused, and the run waits
   * on. Keywords that cannot be checked in bounded time are not checked. Default: any content.
   */
  schema?: S
  /** The tool call that asks. */
  toolCallId?: string
}

/** The answer to a question; `content` with `accept` only. */
export interface Answer<T = unknown> extends Omit<InputOutcome, 'reason' | 'content' | 'sealed' | 'secret'> {
  content?: T
}

/** A call of a tool that the caller of the run serves; `timeout` is 10 minutes by default. */
export interface ClientCall extends Wait {
  toolCallId: string
  toolName: string
  args: unknown
}

/** An outcome as stores and other processes may have it: without credentials. */
export function withoutSecret(outcome: InputOutcome): InputOutcome {
  if (outcome.secret === undefined || outcome.sealed !== undefined) return outcome
  const { content: _, ...rest } = outcome
  return rest
}

/** True if an outcome had credentials that this process does not know. */
export function hasLostSecret({ secret, content, sealed }: InputOutcome): boolean {
  return secret === true && content === undefined && sealed === undefined
}

/** Credentials that the caller of a run is asked for; `timeout` is 24 hours by default. */
export interface CredentialsRequest<S extends TSchema = TSchema> extends Wait {
  /** For what they are needed, and how to obtain them; at most 4,096 characters. */
  message: string
  /**
   * JSON Schema of the credentials, at most 16,384 characters. An answer without content that fits is refused, and the run waits on.
   * Default: any content, or none if the caller grants access elsewhere.
   */
  schema?: S
  /** The tool call that asks. */
  toolCallId?: string
}

/** The answer to a request for credentials. */
export interface CredentialsAnswer<T = unknown> {
  /** With `accept`, either the answer has credentials, or the caller has granted access elsewhere. */
  action: InputAction
  credentials?: Secret<T>
  /** True if no answer came in time; `action` is then `cancel`. */
  expired?: boolean
}

/** As `Static`, of the schema of a request. */
export type CredentialsOf<S extends TSchema> = CredentialsAnswer<Static<S>>

/** The maximum number of tools of one caller. */
const MAX_TOOLS = 64

/** A tool that the caller of a run serves: a call of it waits for the caller's answer, which is its result. */
const ClientToolSchema = Type.Object(
  {
    name: Type.String({
      pattern: '^[A-Za-z0-9_-]{1,64}$',
      description: '1–64 letters, digits, `_` and `-`; none that the agent has'
    }),
    description: Type.String({ maxLength: 4_096, description: 'Shown to the model' }),
    input: Type.Unsafe<Readonly<Record<string, unknown>>>(
      Type.Object(
        { type: Type.Literal('object') },
        { description: 'JSON Schema of the arguments, an object', additionalProperties: true }
      )
    )
  },
  { title: 'ClientTool', additionalProperties: false }
)
export type ClientTool = Static<typeof ClientToolSchema>

/** The tools of a caller. */
export const ClientToolsSchema = Type.Array(ClientToolSchema, {
  maxItems: MAX_TOOLS,
  description: 'Tools that you serve: a call waits for your answer. Only where the service accepts them'
})

/** A message without files. */
export type SteeringMessage = string | readonly Static<typeof TextContentPartSchema>[]

/** A message that has joined a run under way. */
export interface Steer {
  readonly steerId: string
  readonly message: SteeringMessage
}

/**
 * The messages that join a run under way. Each is in the log as `data { name: 'steer' }` when it is accepted, and a runnable that accepts any
 * must take all: a resumed run gets those of earlier processes again.
 */
export interface Steering {
  /** The number of messages taken so far. */
  readonly taken: number
  /**
   * The messages that were accepted and not taken yet, in order.
   * @param total how many are taken then, at most; default all
   */
  take(total?: number): readonly Steer[]
  /** Accepts no more messages from now on. False, and without an effect, while some are not taken. */
  close(): boolean
}
