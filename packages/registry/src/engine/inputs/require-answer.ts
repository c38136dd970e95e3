import {
  ApprovalAnswerSchema,
  findJsonFault,
  fromApprovalAnswer,
  RUN_ERR_BAD_INPUT,
  type ApprovalAnswer,
  type InputAnswer,
  type InputOutcome,
  type InputSummary
} from '@svc/contract'

const MAX_REASON = ApprovalAnswerSchema.properties.reason.maxLength!
const MAX_CONTENT = 1_048_576
/** As for the results of an agent's own tools. */
const MAX_RESULT = 262_144
const MAX_DEPTH = 128

/**
 * Validates the answer to an input, and returns a copy for the store.
 * @throws RUN_ERR_BAD_INPUT
 */
export async function requireAnswer(
  { kind, schema }: Pick<InputSummary, 'kind' | 'schema'>,
  given: object
): Promise<InputOutcome> {
  if (kind === 'approval') return fromApprovalAnswer(requireApprovalAnswer(given))
  if (kind === 'auth') return requireCredentials(given, schema)
  return requireInputAnswer(given, schema, kind === 'tool' ? MAX_RESULT : MAX_CONTENT)
}

// A fault could name a property of what was given, and error texts are logged.
async function requireCredentials(given: object, schema: unknown): Promise<InputOutcome> {
  const answer = await requireInputAnswer(given, undefined, MAX_CONTENT)
  if (answer.action === 'accept' && schema !== undefined)
    await requireFit(schema, answer.content).catch((err: unknown) => {
      if (!(err instanceof RUN_ERR_BAD_INPUT)) throw err
      throw new RUN_ERR_BAD_INPUT('content does not fit the schema of the credentials')
    })
  return answer.content === undefined ? answer : { ...answer, secret: true }
}

/**
 * Validates the answer to an approval, without undefined fields.
 * @throws RUN_ERR_BAD_INPUT if `approved` is not a boolean, `reason` not a text of at most 4,096 characters, or `args` are given
 * and are not a JSON object; null is refused too, since it could be read as "unchanged"
 */
function requireApprovalAnswer(given: Partial<Record<keyof ApprovalAnswer, unknown>>): ApprovalAnswer {
  const { approved, reason, args } = given ?? {}
  // The requester may test for truthiness only, and the string "false" is truthy.
  if (typeof approved !== 'boolean') throw new RUN_ERR_BAD_INPUT('approved must be true or false')
  if (reason !== undefined && (typeof reason !== 'string' || reason.length > MAX_REASON))
    throw new RUN_ERR_BAD_INPUT(`reason must be a text of at most ${MAX_REASON} characters`)
  return {
    approved,
    ...(reason !== undefined && { reason }),
    ...(args !== undefined && { args: objectOf(args) })
  }
}

async function requireInputAnswer(
  given: Partial<Record<keyof InputAnswer, unknown>>,
  schema: unknown,
  maxBytes: number
): Promise<InputOutcome> {
  const { action, content } = given ?? {}
  if (action !== 'accept' && action !== 'decline' && action !== 'cancel')
    throw new RUN_ERR_BAD_INPUT('action must be accept, decline or cancel')
  if (action === 'accept') {
    const copy = content === undefined ? undefined : contentOf(content, maxBytes)
    if (schema !== undefined) await requireFit(schema, copy)
    return copy === undefined ? { action } : { action, content: copy }
  }
  if (content !== undefined) throw new RUN_ERR_BAD_INPUT('content goes with the action accept only')
  return { action }
}

async function requireFit(schema: unknown, content: unknown): Promise<void> {
  if (content === undefined) throw new RUN_ERR_BAD_INPUT('content is missing')
  // Loaded lazily: few services need its pattern engine.
  const { compileForeignSchema } = await import('@svc/contract/schemas')
  const fault = compileForeignSchema(schema, { subject: 'content' }).check(content)
  if (fault !== undefined) throw new RUN_ERR_BAD_INPUT(fault)
}

function contentOf(content: unknown, maxBytes: number): unknown {
  const fault = findJsonFault(content, MAX_DEPTH)
  if (fault !== undefined) throw new RUN_ERR_BAD_INPUT(`content: ${fault}`)
  const json = jsonOf('content', content)
  if (Buffer.byteLength(json) > maxBytes)
    throw new RUN_ERR_BAD_INPUT(`content has more than ${maxBytes} bytes of JSON`)
  return JSON.parse(json)
}

function objectOf(args: unknown): Record<string, unknown> {
  const copy: unknown = JSON.parse(jsonOf('args', args))
  if (typeof copy !== 'object' || copy === null || Array.isArray(copy))
    throw new RUN_ERR_BAD_INPUT('args must be an object')
  return copy as Record<string, unknown>
}

function jsonOf(name: string, value: unknown): string {
  try {
    const json: string | undefined = JSON.stringify(value)
    if (json !== undefined) return json
  } catch {}
  throw new RUN_ERR_BAD_INPUT(`${name} must be JSON`)
}
