import {
  codeOf,
  isPromise,
  isTellable,
  type Awaitable,
  type Credentials,
  type Principal
} from '@svc/contract'

/** The errors with which a surface refuses credentials. */
export interface CredentialErrors {
  readonly NoToken: new () => Error
  readonly InvalidToken: new (options: ErrorOptions) => Error
}

/**
 * Identifies the caller, in the same way on every surface. An error of `authenticate` means an invalid token, unless its status is
 * 500 or over, or it is tellable and not a 401; null, or an error whose code ends with `_ERR_NO_TOKEN`, means no token.
 * @throws the given errors; errors of 500 and over and tellable ones unchanged; a 500 if the result is neither a principal nor null
 */
export function identify<C extends Credentials>(
  authenticate: (credentials: C) => Awaitable<Principal | null>,
  credentials: C,
  errors: CredentialErrors
): Awaitable<Principal> {
  try {
    const found = authenticate(credentials)
    return isPromise(found)
      ? found.then((principal) => requireFound(principal, errors)).catch((err) => refuse(err, errors))
      : requireFound(found, errors)
  } catch (err) {
    return refuse(err, errors)
  }
}

function requireFound(principal: Principal | null, { NoToken }: CredentialErrors): Principal {
  if (principal === null) throw new NoToken()
  const { sub, scopes } = (principal ?? {}) as Partial<Principal>
  if (typeof sub !== 'string' || sub === '' || !isTexts(scopes))
    throw Object.assign(new Error('authenticate gave neither a principal nor null'), { statusCode: 500 })
  return principal
}

function isTexts(value: unknown): boolean {
  return Array.isArray(value) && value.every((each) => typeof each === 'string')
}

// Reveals nothing about invalid credentials; failures of the service itself are not the caller's fault.
function refuse(err: unknown, { NoToken, InvalidToken }: CredentialErrors): never {
  const { statusCode } = (err ?? {}) as { statusCode?: unknown }
  if (typeof statusCode === 'number' && statusCode >= 500) throw err
  // Any surface's code: surfaces share one `authenticate`.
  if (codeOf(err)?.endsWith('_ERR_NO_TOKEN')) throw new NoToken()
  if (isTellable(err) && statusCode !== 401) throw err
  throw err instanceof InvalidToken ? err : new InvalidToken({ cause: err })
}
