/** The codes of the errors with which a surface refuses a caller. */
export interface ChallengeCodes {
  readonly noToken: string
  readonly invalidToken: string
  /** Its errors may carry a `scope`, which the challenge names. */
  readonly missingScope: string
}

/**
 * The `WWW-Authenticate` header for an error; undefined for errors unrelated to credentials.
 * @see https://www.rfc-editor.org/rfc/rfc6750#section-3
 */
export function toChallenge(err: unknown, codes: ChallengeCodes): string | undefined {
  const { code, scope } = (err ?? {}) as { code?: unknown; scope?: unknown }
  switch (code) {
    case codes.noToken:
      return 'Bearer'
    case codes.invalidToken:
      return 'Bearer error="invalid_token"'
    case codes.missingScope:
      return `Bearer error="insufficient_scope"${typeof scope === 'string' ? `, scope="${toQuoted(scope)}"` : ''}`
    default:
      return undefined
  }
}

function toQuoted(scope: string): string {
  return scope.replaceAll(/["\\]|[^ -~]/g, '')
}
