import createError from '@fastify/error'
import type { ToolError } from '@svc/registry'

/** An option of an agent that is unknown or has a bad value. */
export const RUN_ERR_BAD_AGENT = createError<[string]>('RUN_ERR_BAD_AGENT', 'Bad option of an agent: %s', 500)
/** A tool that cannot be one. */
export const RUN_ERR_BAD_TOOL = createError<[string]>('RUN_ERR_BAD_TOOL', 'Bad tool: %s', 500)
/** Something that is no model was given, or made by a model function. */
export const RUN_ERR_BAD_MODEL = createError<[string]>('RUN_ERR_BAD_MODEL', 'Not a model: %s', 500)

/** The model provider answered 429; `retryAfter` (seconds) is there when the provider said so. */
export const RUN_ERR_MODEL_RATE_LIMITED = createError(
  'RUN_ERR_MODEL_RATE_LIMITED',
  'The model provider limits the rate of calls',
  429
)
/** The model provider answered 5xx, or with something that cannot be understood. */
export const RUN_ERR_MODEL_FAILED = createError('RUN_ERR_MODEL_FAILED', 'The model provider failed', 502)
/** The connection to the model provider failed. */
export const RUN_ERR_MODEL_UNREACHABLE = createError(
  'RUN_ERR_MODEL_UNREACHABLE',
  'The model provider could not be reached',
  502
)
/** The model provider answered 4xx: the same call will fail again. */
export const RUN_ERR_MODEL_REFUSED = createError(
  'RUN_ERR_MODEL_REFUSED',
  'The model provider refused the call',
  502
)
/** The model provider answered 401 or 403, or its package found no key to send. */
export const RUN_ERR_MODEL_AUTH = createError(
  'RUN_ERR_MODEL_AUTH',
  'The model provider got no credentials, or refused them',
  502
)
/** The stream of the model broke off after its first token, or ended without saying why. */
export const RUN_ERR_MODEL_STREAM_BROKEN = createError(
  'RUN_ERR_MODEL_STREAM_BROKEN',
  'The answer of the model broke off',
  502
)

/** The model gave no token in `timeout.firstToken`. */
export const RUN_ERR_FIRST_TOKEN_TIMEOUT = createError<[number]>(
  'RUN_ERR_FIRST_TOKEN_TIMEOUT',
  'The model gave no token within %d ms',
  504
)
/** The model fell silent for `timeout.betweenTokens`. */
export const RUN_ERR_TOKEN_TIMEOUT = createError<[number]>(
  'RUN_ERR_TOKEN_TIMEOUT',
  'The model fell silent for %d ms',
  504
)
/** The run took longer than `timeout.run`. */
export const RUN_ERR_TIMEOUT = createError<[number]>('RUN_ERR_TIMEOUT', 'The run took longer than %d ms', 504)

/** The model called a tool that the agent does not have. */
export const RUN_ERR_TOOL_UNKNOWN = createError<[string]>('RUN_ERR_TOOL_UNKNOWN', 'There is no tool %s', 404)
/** The arguments of a tool call are no JSON, or do not fit the tool's schema. */
export const RUN_ERR_TOOL_BAD_ARGS = createError<[string]>('RUN_ERR_TOOL_BAD_ARGS', 'Bad arguments: %s', 400)
/** The tool threw; the message is the tool's own. */
export const RUN_ERR_TOOL_FAILED = createError<[string]>('RUN_ERR_TOOL_FAILED', '%s', 500)
/** The tool took longer than its `timeout`. */
export const RUN_ERR_TOOL_TIMEOUT = createError<[number]>(
  'RUN_ERR_TOOL_TIMEOUT',
  'The tool did not end within %d ms',
  504
)
/** What the tool returned has no JSON. */
export const RUN_ERR_TOOL_BAD_OUTPUT = createError<[string]>(
  'RUN_ERR_TOOL_BAD_OUTPUT',
  'The result of the tool has no JSON: %s',
  500
)
/** What the tool returned is larger than its `maxOutputBytes`. */
export const RUN_ERR_TOOL_OUTPUT_TOO_LARGE = createError<[number, number]>(
  'RUN_ERR_TOOL_OUTPUT_TOO_LARGE',
  'The result of the tool has %d bytes, more than the %d allowed; ask for less',
  500
)

/** What models and clients are told of why a tool call failed: of an error that is not of this catalogue, nothing. */
export function toToolError(err: unknown): ToolError {
  const { code, message } = err as Partial<ToolError>
  if (typeof code === 'string' && code.startsWith('RUN_ERR_')) return { code, message: String(message) }
  return toToolError(new RUN_ERR_TOOL_FAILED('The tool call failed'))
}
