/**
 * What `WWW-Authenticate` says of an error; undefined for one that has nothing to do with credentials.
 * @see https://www.rfc-editor.org/rfc/rfc6750#section-3
 */
export function toChallenge(err: unknown): string | undefined {
  const { code, scope } = (err ?? {}) as { code?: unknown; scope?: unknown }
  switch (code) {
    case 'HTTP_ERR_NO_TOKEN':
      return 'Bearer'
    case 'HTTP_ERR_INVALID_TOKEN':
      return 'Bearer error="invalid_token"'
    case 'HTTP_ERR_MISSING_SCOPE':
      return `Bearer error="insufficient_scope", scope="${String(scope).replaceAll(/["\\]|[^ -~]/g, '')}"`
    default:
      return undefined
  }
}
