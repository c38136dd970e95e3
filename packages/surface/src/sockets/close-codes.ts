/** The codes with which a WebSocket is closed. @see https://www.iana.org/assignments/websocket/websocket.xhtml */
export const CLOSE = {
  /** The conversation has ended. */
  ended: 1000,
  /** A binary frame. */
  unsupported: 1003,
  /** A limit is exceeded, or the client is refused. */
  refused: 1008,
  /** The conversation failed. */
  failed: 1011,
  /** The service restarts. */
  restart: 1012,
  /** The service takes no more now. */
  overloaded: 1013,
  /** No token, an invalid one, or an expired one. */
  unauthorized: 3000,
  /** The caller may not do this. */
  forbidden: 3003
} as const

/** The code with which a connection is closed after an error. */
export function closeCodeOf(statusCode: number): number {
  if (statusCode === 401) return CLOSE.unauthorized
  if (statusCode === 403) return CLOSE.forbidden
  if (statusCode === 429 || statusCode === 503) return CLOSE.overloaded
  return statusCode < 500 ? CLOSE.refused : CLOSE.failed
}
