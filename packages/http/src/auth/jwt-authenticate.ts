import type { FastifyJWTOptions } from '@fastify/jwt'
import { defined, isPromise, type Authenticate, type Credentials, type Principal } from '@svc/contract'
import type { KeySetSettings } from '@svc/surface'
import Fastify from 'fastify'
import { HTTP_ERR_INVALID_TOKEN, HTTP_ERR_JWT_NOT_INSTALLED, HTTP_ERR_KEYS_UNAVAILABLE } from '../errors.ts'
import type { JwtKeyFunction } from './jwt-key.ts'
import { resolveJwtOptions, type JwtOptions } from './jwt-options.ts'

/** Characters; longer tokens are refused unread. */
const MAX_TOKEN_LENGTH = 16_384

/** Entries, and milliseconds that a verified token stays in the cache, at most until its `exp`. */
const CACHE = { cache: 1000, cacheTTL: 60_000 }

/** Settings besides the options of the token. */
export interface JwtAuthenticateSettings {
  /** The claim with the scopes; default `scopes`. */
  scopeField?: string
  /** Logs failures to fetch the key set of `jwksUrl`; default no log. */
  log?: KeySetSettings['log']
}

/**
 * Creates authentication by JSON Web Tokens (RFC 7519). Needs no app; several apps may share the function. With `extractFrom: 'cookie'`
 * it reads the cookie, and no token of a header.
 * It returns null without a token, throws HTTP_ERR_INVALID_TOKEN for an invalid one, and HTTP_ERR_KEYS_UNAVAILABLE if
 * the keys to verify it cannot be fetched.
 * @throws HTTP_ERR_BAD_OPTION
 * @throws HTTP_ERR_JWT_NOT_INSTALLED
 */
export async function createJwtAuthenticate(
  options: JwtOptions,
  { scopeField = 'scopes', log }: JwtAuthenticateSettings = {}
): Promise<Authenticate> {
  const { key, algorithm, issuer, audience, extractFrom, cookieName } = resolveJwtOptions(options, log)
  const required = { exp: true, aud: audience !== undefined, iss: issuer !== undefined }
  const verify = await createVerify({
    secret: { public: typeof key === 'function' ? toKeyFetcher(key) : key },
    verify: {
      ...CACHE,
      algorithms: [algorithm],
      complete: true,
      requiredClaims: Object.entries(required).flatMap(([claim, isNeeded]) => (isNeeded ? claim : [])),
      ...defined({ allowedIss: issuer, allowedAud: audience })
    }
  })
  // The verifier's cache returns the same object for the same token.
  const principals = new WeakMap<VerifiedToken, Principal>()

  function accept(token: VerifiedToken): Principal {
    let principal = principals.get(token)
    if (principal === undefined) {
      principal = toPrincipal(token, scopeField)
      principals.set(token, principal)
    }
    if (Number(principal.exp) * 1000 <= Date.now()) throw new Error('expired')
    return principal
  }

  // Every surface passes the cookies on, so that the function itself knows where its token is.
  function tokenOf({ token, cookies }: Credentials): string | undefined {
    if (extractFrom === 'header') return token
    return Object.hasOwn(cookies, cookieName) ? cookies[cookieName] : undefined
  }

  function authenticate(credentials: Credentials): Promise<Principal> | Principal | null {
    const token = tokenOf(credentials)
    if (token === undefined) return null
    try {
      if (token.length > MAX_TOKEN_LENGTH) throw new Error('too long')
      const verified = verify(token)
      return isPromise(verified) ? verified.then(accept).catch(refuse) : accept(verified)
    } catch (err) {
      return refuse(err)
    }
  }

  return Object.assign(authenticate, {
    schemes:
      extractFrom === 'cookie'
        ? { cookieAuth: { type: 'apiKey', in: 'cookie', name: cookieName } }
        : { bearerAuth: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' } }
  })
}

type Verify = (token: string) => VerifiedToken | Promise<VerifiedToken>

// A private app holds the verifier, so the user's app may register `@fastify/jwt` itself.
async function createVerify(options: FastifyJWTOptions): Promise<Verify> {
  const app = Fastify()
  await app.register(await loadPlugin(), options)
  return app.jwt.verify
}

async function loadPlugin() {
  try {
    return (await import('@fastify/jwt')).default
  } catch (cause) {
    if ((cause as { code?: unknown }).code !== 'ERR_MODULE_NOT_FOUND') throw cause
    throw new HTTP_ERR_JWT_NOT_INSTALLED({ cause })
  }
}

function toKeyFetcher(findKey: JwtKeyFunction) {
  return async ({ header, payload }: VerifiedToken): Promise<string | Buffer> => {
    try {
      return await findKey({ header, payload })
    } catch (cause) {
      const { statusCode } = cause as { statusCode?: unknown }
      if (typeof statusCode !== 'number' || statusCode < 500) throw cause
      throw cause instanceof HTTP_ERR_KEYS_UNAVAILABLE ? cause : new HTTP_ERR_KEYS_UNAVAILABLE({ cause })
    }
  }
}

/** The cause is a code only: contents of a bad token must not reach the log. */
function refuse(err: unknown): never {
  const { code, originalError, message } = err as Error & { code?: unknown; originalError?: unknown }
  if (originalError instanceof HTTP_ERR_KEYS_UNAVAILABLE) throw originalError
  throw new HTTP_ERR_INVALID_TOKEN({ cause: code ?? message })
}

/** A token with a valid signature, lifetime, issuer and audience. */
interface VerifiedToken {
  header: Readonly<Record<string, unknown>>
  payload: Readonly<Record<string, unknown>>
}

/** Builds the principal of a token. Throws if a claim has the wrong type or `crit` demands an unknown extension. */
function toPrincipal({ header, payload }: VerifiedToken, scopeField: string): Principal {
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
