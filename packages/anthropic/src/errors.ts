import { createError } from '@svc/contract'
import { errors } from './surface-errors.ts'

export { ANTHROPIC_ERR_UNKNOWN_AGENT } from './surface-errors.ts'

export const {
  BadOption: ANTHROPIC_ERR_BAD_OPTION,
  RegisteredTwice: ANTHROPIC_ERR_REGISTERED_TWICE,
  BadJson: ANTHROPIC_ERR_BAD_JSON,
  BadRequest: ANTHROPIC_ERR_BAD_REQUEST,
  NoToken: ANTHROPIC_ERR_NO_TOKEN,
  InvalidToken: ANTHROPIC_ERR_INVALID_TOKEN,
  MissingScope: ANTHROPIC_ERR_MISSING_SCOPE,
  Forbidden: ANTHROPIC_ERR_FORBIDDEN,
  ForeignUser: ANTHROPIC_ERR_FOREIGN_USER,
  CrossOrigin: ANTHROPIC_ERR_CROSS_ORIGIN,
  BodyTooLarge: ANTHROPIC_ERR_BODY_TOO_LARGE,
  UnsupportedMedia: ANTHROPIC_ERR_UNSUPPORTED_MEDIA_TYPE,
  Internal: ANTHROPIC_ERR_INTERNAL,
  Unsupported: ANTHROPIC_ERR_UNSUPPORTED
} = errors

/** The request does not name the revision of the API that it is written for. */
export const ANTHROPIC_ERR_BETA_REQUIRED = createError<[beta: string]>(
  'ANTHROPIC_ERR_BETA_REQUIRED',
  'This API is in beta: add `%s` to the header `anthropic-beta`',
  400
)
/** The header `anthropic-beta` names what the service does not have. */
export const ANTHROPIC_ERR_UNKNOWN_BETA = createError<[value: string]>(
  'ANTHROPIC_ERR_UNKNOWN_BETA',
  'Unexpected value(s) %s for the header `anthropic-beta`',
  400
)
/** The page is not of this list, or of a list with other parameters. */
export const ANTHROPIC_ERR_BAD_PAGE = createError(
  'ANTHROPIC_ERR_BAD_PAGE',
  '`page` is not a cursor of this list: leave it out to begin with the first page',
  400
)
/** Agents are registered by the service. */
export const ANTHROPIC_ERR_READ_ONLY = createError<[what: string]>(
  'ANTHROPIC_ERR_READ_ONLY',
  '%s are defined by the service, and cannot be created, changed or archived here',
  403
)
/** No version of the agent has this number. */
export const ANTHROPIC_ERR_UNKNOWN_VERSION = createError<[version: string, agent: string]>(
  'ANTHROPIC_ERR_UNKNOWN_VERSION',
  'No version %s of the agent "%s": there is version 1',
  404
)
/** No route of the plugin has this method and path. */
export const ANTHROPIC_ERR_ROUTE_NOT_FOUND = createError<[string]>(
  'ANTHROPIC_ERR_ROUTE_NOT_FOUND',
  'Not found: %s',
  404
)
/** The sessions of the service have one environment. */
export const ANTHROPIC_ERR_UNKNOWN_ENVIRONMENT = createError<[string]>(
  'ANTHROPIC_ERR_UNKNOWN_ENVIRONMENT',
  'No environment "%s": see the list of environments',
  404
)
/** The session has no thread with this id. */
export const ANTHROPIC_ERR_UNKNOWN_THREAD = createError<[string]>(
  'ANTHROPIC_ERR_UNKNOWN_THREAD',
  'No thread "%s"',
  404
)
/** The session is archived. */
export const ANTHROPIC_ERR_ARCHIVED = createError(
  'ANTHROPIC_ERR_ARCHIVED',
  'The session is archived and takes no events: begin another one',
  400
)
/** The deployment is archived. */
export const ANTHROPIC_ERR_DEPLOYMENT_ARCHIVED = createError(
  'ANTHROPIC_ERR_DEPLOYMENT_ARCHIVED',
  'The deployment is archived and begins no sessions: create another one',
  400
)
/** An event is answered that asks for nothing, or for something else. */
export const ANTHROPIC_ERR_NOT_ASKED = createError<[id: string, answer: string]>(
  'ANTHROPIC_ERR_NOT_ASKED',
  'The event "%s" of this session waits for no %s: see `stop_reason.event_ids` of `session.status_idle`',
  400
)
/** The event was answered before, on any wire, or its time is over. */
export const ANTHROPIC_ERR_ANSWERED = createError<[id: string]>(
  'ANTHROPIC_ERR_ANSWERED',
  'The event "%s" has been answered, or has expired',
  400
)
