import { Type } from '@sinclair/typebox'
import { defined, functionSchema, MAX_TIMER, optionsSchema, requireOptions } from '@svc/contract'
import type { KeySetSettings } from '@svc/surface'
import { HTTP_ERR_BAD_OPTION } from '../errors.ts'
import {
  createRemoteKey,
  JWT_ALGORITHMS,
  requireKey,
  type JwtAlgorithm,
  type JwtKeyFunction
} from './jwt-key.ts'

/** Options of authentication by JSON Web Tokens; exactly one of `secret` and `jwksUrl` is required. */
export interface JwtOptions {
  /** The secret (HS…), the public key or certificate in PEM (others), or a key function. */
  secret?: string | Buffer | JwtKeyFunction | undefined
  /** URL of the public keys, as a JSON Web Key Set. */
  jwksUrl?: string | undefined
  /** Milliseconds that known keys, once a minute old, still serve while no newer set can be fetched; default 600,000. */
  jwksMaxStale?: number
  /** The only accepted algorithm; default HS256. */
  algorithm?: JwtAlgorithm
  /** Required value of `iss`. */
  issuer?: string
  /** Required value of `aud`, or a list of accepted ones. */
  audience?: string | string[]
  /** Where the token is: `header` (`Authorization: Bearer`) or `cookie`; default `header`. */
  extractFrom?: 'header' | 'cookie'
  /** The cookie with the token; default `token`. */
  cookieName?: string
}

const text = Type.String({ minLength: 1 })

export const JwtOptionsSchema = optionsSchema<JwtOptions>({
  secret: Type.Unsafe<string | Buffer | JwtKeyFunction>(
    Type.Union([Type.String(), Type.Uint8Array(), functionSchema<JwtKeyFunction>()])
  ),
  jwksUrl: Type.String(),
  jwksMaxStale: Type.Integer({ minimum: 0, maximum: MAX_TIMER }),
  algorithm: Type.Unsafe<JwtAlgorithm>(Type.Union(JWT_ALGORITHMS.map((name) => Type.Literal(name)))),
  issuer: text,
  audience: Type.Union([text, Type.Array(text, { minItems: 1 })]),
  extractFrom: Type.Union([Type.Literal('header'), Type.Literal('cookie')]),
  cookieName: text
})

const DEFAULTS = Object.freeze({ algorithm: 'HS256', extractFrom: 'header', cookieName: 'token' })

/** Validates the options and fills in the defaults. @throws HTTP_ERR_BAD_OPTION */
export function resolveJwtOptions(options: JwtOptions, log?: KeySetSettings['log']) {
  requireOptions(JwtOptionsSchema, options, HTTP_ERR_BAD_OPTION)
  // Destructured, not spread: a value may be inherited, and to lose `issuer` or `audience` would accept more tokens.
  const {
    algorithm = DEFAULTS.algorithm,
    extractFrom = DEFAULTS.extractFrom,
    cookieName = DEFAULTS.cookieName,
    issuer,
    audience
  } = options
  return { key: resolveKey(options, algorithm, log), algorithm, issuer, audience, extractFrom, cookieName }
}

function resolveKey(
  { secret, jwksUrl, jwksMaxStale }: JwtOptions,
  algorithm: JwtAlgorithm,
  log: KeySetSettings['log']
): string | Buffer | JwtKeyFunction {
  if ((secret === undefined) === (jwksUrl === undefined))
    throw new HTTP_ERR_BAD_OPTION('jwt: one of secret and jwksUrl is needed')
  if (jwksUrl === undefined) {
    if (jwksMaxStale !== undefined) throw new HTTP_ERR_BAD_OPTION('jwt/jwksMaxStale: it needs jwksUrl')
    return typeof secret === 'function' ? secret : requireKey(secret as string | Buffer, algorithm)
  }
  if (algorithm.startsWith('HS'))
    throw new HTTP_ERR_BAD_OPTION(`jwt/jwksUrl: public keys do not go with ${algorithm}; set jwt/algorithm`)
  if (!/^https?:$/.test(URL.parse(jwksUrl)?.protocol ?? ''))
    throw new HTTP_ERR_BAD_OPTION('jwt/jwksUrl: it must be an http or https URL')
  return createRemoteKey(jwksUrl, algorithm, { log, ...defined({ maxStale: jwksMaxStale }) })
}
