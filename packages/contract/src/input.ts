import { Type, type Static, type TSchema } from '@sinclair/typebox'
import { InputActionSchema, type PartOf } from './part.ts'

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
