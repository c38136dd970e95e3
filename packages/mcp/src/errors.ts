import { createError } from '@svc/contract'
import { errors } from './surface-errors.ts'

export const {
  BadOption: MCP_ERR_BAD_OPTION,
  RegisteredTwice: MCP_ERR_REGISTERED_TWICE,
  BadJson: MCP_ERR_BAD_JSON,
  BadRequest: MCP_ERR_BAD_REQUEST,
  NoToken: MCP_ERR_NO_TOKEN,
  InvalidToken: MCP_ERR_INVALID_TOKEN,
  MissingScope: MCP_ERR_MISSING_SCOPE,
  Forbidden: MCP_ERR_FORBIDDEN,
  ForeignUser: MCP_ERR_FOREIGN_USER,
  CrossOrigin: MCP_ERR_CROSS_ORIGIN,
  UnknownRunnable: MCP_ERR_UNKNOWN_RUNNABLE,
  BodyTooLarge: MCP_ERR_BODY_TOO_LARGE,
  UnsupportedMedia: MCP_ERR_UNSUPPORTED_MEDIA_TYPE,
  Internal: MCP_ERR_INTERNAL
} = errors

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
