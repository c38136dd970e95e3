import { createError } from '@svc/registry'

/** An option is unknown or has an invalid value. */
export const MCP_ERR_BAD_OPTION = createError<[string]>('MCP_ERR_BAD_OPTION', 'Bad option: %s', 500)
/** The plugin is already registered with this prefix. */
export const MCP_ERR_REGISTERED_TWICE = createError<[string]>(
  'MCP_ERR_REGISTERED_TWICE',
  '@svc/mcp is already registered with the %s: choose another prefix',
  500
)
/** The body is not valid JSON, or JSON that is not accepted. */
export const MCP_ERR_BAD_JSON = createError<[string]>('MCP_ERR_BAD_JSON', 'Bad JSON: %s', 400)
/** The request is not one of JSON-RPC, or its parameters are not valid. */
export const MCP_ERR_BAD_REQUEST = createError<[string]>('MCP_ERR_BAD_REQUEST', 'Bad request: %s', 400)
/** The request has no token. */
export const MCP_ERR_NO_TOKEN = createError('MCP_ERR_NO_TOKEN', 'A token is required', 401)
/** The token is not valid, for whatever reason. */
export const MCP_ERR_INVALID_TOKEN = createError('MCP_ERR_INVALID_TOKEN', 'The token is not valid', 401)
/** The caller lacks the scope. */
export const MCP_ERR_MISSING_SCOPE = createError<[string]>(
  'MCP_ERR_MISSING_SCOPE',
  'The scope "%s" is required',
  403
)
/** The policy forbids this. */
export const MCP_ERR_FORBIDDEN = createError('MCP_ERR_FORBIDDEN', 'This is not allowed', 403)
/** A run would be of another user. */
export const MCP_ERR_FOREIGN_USER = createError('MCP_ERR_FOREIGN_USER', 'userId must be your own', 403)
/** A page of another site sent the request. */
export const MCP_ERR_CROSS_ORIGIN = createError(
  'MCP_ERR_CROSS_ORIGIN',
  'Not allowed from another origin',
  403
)
/** No exposed runnable is a tool of this kind and name. */
export const MCP_ERR_UNKNOWN_RUNNABLE = createError<[string, string]>(
  'MCP_ERR_UNKNOWN_RUNNABLE',
  'No %s "%s"',
  404
)
/** No tool has this name. */
export const MCP_ERR_UNKNOWN_TOOL = createError<[string]>('MCP_ERR_UNKNOWN_TOOL', 'No tool "%s"', 404)
/** No prompt has this name. */
export const MCP_ERR_UNKNOWN_PROMPT = createError<[string]>('MCP_ERR_UNKNOWN_PROMPT', 'No prompt "%s"', 404)
/** The state of a call to continue is of no run of the caller and this tool. */
export const MCP_ERR_BAD_STATE = createError(
  'MCP_ERR_BAD_STATE',
  'The requestState is not that of a call of this tool',
  400
)
/** The caller, or all together, have as many subscriptions as may be open. */
export const MCP_ERR_TOO_MANY_SUBSCRIPTIONS = createError(
  'MCP_ERR_TOO_MANY_SUBSCRIPTIONS',
  'Too many subscriptions are open: close some first',
  429
)
/** The body has more bytes than `bodyLimit`. */
export const MCP_ERR_BODY_TOO_LARGE = createError('MCP_ERR_BODY_TOO_LARGE', 'The body is too large', 413)
/** The body is not plain JSON in UTF-8. */
export const MCP_ERR_UNSUPPORTED_MEDIA_TYPE = createError<[string]>(
  'MCP_ERR_UNSUPPORTED_MEDIA_TYPE',
  'Unsupported body: %s',
  415
)
/** The service failed; the log has the cause. */
export const MCP_ERR_INTERNAL = createError('MCP_ERR_INTERNAL', 'Internal Server Error', 500)
