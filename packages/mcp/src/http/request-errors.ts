import {
  MCP_ERR_BAD_JSON,
  MCP_ERR_BAD_REQUEST,
  MCP_ERR_BODY_TOO_LARGE,
  MCP_ERR_CROSS_ORIGIN,
  MCP_ERR_INTERNAL,
  MCP_ERR_INVALID_TOKEN,
  MCP_ERR_NO_TOKEN,
  MCP_ERR_UNSUPPORTED_MEDIA_TYPE
} from '../errors.ts'

/** The errors with which requests are refused. */
export const REQUEST_ERRORS = {
  BadJson: MCP_ERR_BAD_JSON,
  BadRequest: MCP_ERR_BAD_REQUEST,
  UnsupportedMedia: MCP_ERR_UNSUPPORTED_MEDIA_TYPE,
  BodyTooLarge: MCP_ERR_BODY_TOO_LARGE,
  Internal: MCP_ERR_INTERNAL,
  NoToken: MCP_ERR_NO_TOKEN,
  InvalidToken: MCP_ERR_INVALID_TOKEN,
  CrossOrigin: MCP_ERR_CROSS_ORIGIN,
  challenges: {
    noToken: 'MCP_ERR_NO_TOKEN',
    invalidToken: 'MCP_ERR_INVALID_TOKEN',
    missingScope: 'MCP_ERR_MISSING_SCOPE'
  }
}
