import type { Principal } from '@svc/registry'

/** A token with a valid signature, lifetime, issuer and audience. */
export interface VerifiedToken {
  header: Readonly<Record<string, unknown>>
  payload: Readonly<Record<string, unknown>>
}

/** Builds the principal of a token. Throws if a claim has the wrong type or `crit` demands an unknown extension. */
export function toPrincipal({ header, payload }: VerifiedToken, scopeField: string): Principal {
  // RFC 7515, section 4.1.11: no extension is supported.
  if (Object.hasOwn(header, 'crit')) throw new Error('crit names an unknown extension')
  const { sub, exp } = payload
  if (typeof sub !== 'string' || sub === '') throw new Error('sub must be a string')
  if (typeof exp !== 'number' || !Number.isFinite(exp)) throw new Error('exp must be a number')
  for (const claim of ['nbf', 'iat'])
    if (Object.hasOwn(payload, claim) && !Number.isFinite(payload[claim]))
      throw new Error(`${claim} must be a number`)

  const scopes = toScopes(Object.hasOwn(payload, scopeField) ? payload[scopeField] : [])
  return Object.freeze({ sub, scopes: Object.freeze(scopes), exp, claims: deepFreeze(payload) })
}

function toScopes(value: unknown): string[] {
  if (typeof value === 'string') return value.split(' ').filter((scope) => scope !== '')
  if (Array.isArray(value) && value.every((scope) => typeof scope === 'string')) return [...value]
  throw new Error('the scopes must be strings')
}

// No recursion: claims may be nested deeper than the stack.
function deepFreeze<T extends object>(root: T): Readonly<T> {
  const waiting: object[] = [root]
  for (let each = waiting.pop(); each !== undefined; each = waiting.pop()) {
    Object.freeze(each)
    for (const value of Object.values(each))
      if (typeof value === 'object' && value !== null) waiting.push(value)
  }
  return root
}
