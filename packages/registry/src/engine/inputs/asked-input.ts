import {
  defined,
  findJsonFault,
  hasLostSecret,
  Secret,
  toApprovalOutcome,
  type Answer,
  type ApprovalRequest,
  type ChildOptions,
  type ClientCall,
  type CredentialsAnswer,
  type CredentialsRequest,
  type InputOutcome,
  type Part,
  type PartOf,
  type Question,
  type RequestedInput,
  type StoredInput
} from '@svc/contract'
import { RUN_ERR_BAD_QUESTION } from '@svc/contract/errors'

const MAX_MESSAGE = 4_096
const MAX_SCHEMA = 16_384
const MAX_DEPTH = 64

/** An input as it is asked for. */
export interface AskedInput extends Pick<
  StoredInput,
  'kind' | 'message' | 'schema' | 'toolCallId' | 'toolName' | 'args'
> {
  /** Milliseconds; the default depends on the kind. */
  timeout?: number
  /** As in `ApprovalRequest`. */
  durable?: boolean
}

/** Who asks. */
export interface Asker {
  readonly source: readonly string[]
  readonly path: readonly string[]
  /** Withdraws what was asked for when it aborts. */
  readonly signal: AbortSignal | undefined
  readonly onInput?: ChildOptions['onInput']
}

export function fromApproval({ toolCallId, toolName, args, ...rest }: ApprovalRequest): AskedInput {
  return { kind: 'approval', toolCallId, toolName, args, ...waitOf(rest) }
}

/** @throws RUN_ERR_BAD_QUESTION */
export function fromQuestion(question: Question): AskedInput {
  return { kind: 'question', ...readQuestion(question) }
}

/** @throws RUN_ERR_BAD_QUESTION */
export function fromCredentialsRequest(request: CredentialsRequest): AskedInput {
  return { kind: 'auth', ...readQuestion(request) }
}

function readQuestion(question: Question | CredentialsRequest): Omit<AskedInput, 'kind'> {
  const { message, schema, toolCallId, ...rest } = question ?? {}
  if (typeof message !== 'string' || message.length === 0 || message.length > MAX_MESSAGE)
    throw new RUN_ERR_BAD_QUESTION(`message must be a text of 1 to ${MAX_MESSAGE} characters`)
  return {
    message,
    ...(schema !== undefined && { schema: requireSchema(schema) }),
    ...(toolCallId !== undefined && { toolCallId }),
    ...requireWait(rest)
  }
}

/** @throws RUN_ERR_BAD_QUESTION */
export function fromClientCall({ toolCallId, toolName, args, ...rest }: ClientCall): AskedInput {
  const copy = jsonOf(args)
  return {
    kind: 'tool',
    toolCallId,
    toolName,
    ...(copy !== undefined && { args: copy }),
    ...requireWait(rest)
  }
}

/** The part that asks for an input. */
export function toRequestPart(input: StoredInput): RequestedInput['request'] {
  const { inputId, kind, message, schema, toolCallId, toolName, args } = input
  const rest = { expiresAt: new Date(input.expiresAt).toISOString(), ...sourceOf(input) }
  if (kind === 'approval')
    return {
      type: 'tool.approval.request',
      approvalId: inputId,
      toolCallId: toolCallId!,
      toolName: toolName!,
      args,
      ...rest
    }
  return {
    type: 'input.request',
    inputId,
    kind,
    ...defined({ message, schema, toolCallId, toolName, args }),
    ...rest
  }
}

/** The part that answers an input. The content for a client tool is its result and stands in `tool.result` only. */
export function toResponsePart(input: StoredInput, outcome: InputOutcome): Part {
  const { inputId, kind, toolCallId } = input
  const from = sourceOf(input)
  if (kind === 'approval') {
    const { approved, reason, args } = toApprovalOutcome(outcome)
    return {
      type: 'tool.approval.response',
      approvalId: inputId,
      toolCallId: toolCallId!,
      approved,
      ...defined({ reason, args }),
      ...from
    }
  }
  const { action, content } = outcome
  const shown = kind === 'question' && content !== undefined ? { content } : {}
  return { type: 'input.response', inputId, action, ...shown, ...from } satisfies PartOf<'input.response'>
}

function sourceOf({ source }: StoredInput): { source?: string[] } {
  return source.length === 0 ? {} : { source: [...source] }
}

/** The outcome of an input as its asker gets it. */
export function toAnswer({ action, content, expired }: InputOutcome): Answer {
  return { action, ...(content !== undefined && { content }), ...(expired && { expired }) }
}

/** The outcome of a request for credentials, which only its asker gets. */
export function toCredentialsAnswer(outcome: InputOutcome): CredentialsAnswer {
  // Another process took them: its run is not this one any more.
  if (hasLostSecret(outcome)) return { action: 'cancel' }
  const { action, content, expired } = outcome
  return {
    action,
    ...(content !== undefined && { credentials: new Secret(content) }),
    ...(expired && { expired })
  }
}

// A copy, since the schema may be built of objects that change, and TypeBox marks its own with symbols.
function requireSchema(schema: unknown): unknown {
  const fault = findJsonFault(schema, MAX_DEPTH)
  if (fault !== undefined) throw new RUN_ERR_BAD_QUESTION(`schema: ${fault}`)
  const json = JSON.stringify(schema) ?? ''
  if (json.length > MAX_SCHEMA)
    throw new RUN_ERR_BAD_QUESTION(`schema has more than ${MAX_SCHEMA} characters`)
  const copy: unknown = json === '' ? undefined : JSON.parse(json)
  if (typeof copy !== 'boolean' && (typeof copy !== 'object' || copy === null || Array.isArray(copy)))
    throw new RUN_ERR_BAD_QUESTION('schema must be a JSON Schema')
  return copy
}

type Wait = Pick<AskedInput, 'timeout' | 'durable'>

function requireWait(wait: Wait): Wait {
  const { timeout } = wait
  if (timeout !== undefined && !(typeof timeout === 'number' && timeout > 0))
    throw new RUN_ERR_BAD_QUESTION('timeout must be a number of milliseconds over 0')
  return waitOf(wait)
}

function waitOf({ timeout, durable }: Wait): Wait {
  return defined({ timeout, durable })
}

function jsonOf(args: unknown): unknown {
  try {
    const json = JSON.stringify(args)
    return json === undefined ? undefined : JSON.parse(json)
  } catch {
    throw new RUN_ERR_BAD_QUESTION('args must be JSON')
  }
}
