import { Type, type Static } from '@sinclair/typebox'
import { millisecondsSchema, requireOptions } from '@svc/registry/kit'
import { HTTP_ERR_BAD_OPTION } from '../errors.ts'
import { JWT_ALGORITHMS, type JwtAlgorithm } from './jwt-algorithms.ts'
import { requireKey, type JwtKeyFunction } from './jwt-key.ts'
import { createKeySet, type KeySetSettings } from './key-set.ts'

const text = Type.String({ minLength: 1 })

/** Options of authentication by JSON Web Tokens; exactly one of `secret` and `jwksUrl` is required. */
export const JwtOptionsSchema = Type.Object(
  {
    secret: Type.Optional(
      Type.Unsafe<string | Buffer | JwtKeyFunction | undefined>(
        Type.Union([Type.String(), Type.Uint8Array(), Type.Function([], Type.Unknown())], {
          description: 'The secret (HS…), the public key or certificate in PEM (others), or a key function'
        })
      )
    ),
    jwksUrl: Type.Optional(
      Type.Unsafe<string | undefined>(
        Type.String({ description: 'URL of the public keys, as a JSON Web Key Set' })
      )
    ),
    jwksMaxStale: Type.Optional(
      millisecondsSchema(
        'Milliseconds that known keys, once a minute old, still serve while no newer set can be fetched; default 600,000',
        0
      )
    ),
    algorithm: Type.Optional(
      Type.Unsafe<JwtAlgorithm>(
        Type.Union(
          JWT_ALGORITHMS.map((name) => Type.Literal(name)),
          { description: `The only accepted algorithm: one of ${JWT_ALGORITHMS.join(', ')}; default HS256` }
        )
      )
    ),
    issuer: Type.Optional(Type.String({ minLength: 1, description: 'Required value of `iss`' })),
    audience: Type.Optional(
      Type.Union([text, Type.Array(text, { minItems: 1 })], {
        description: 'Required value of `aud`, or a list of accepted ones'
      })
    ),
    extractFrom: Type.Optional(
      Type.Union([Type.Literal('header'), Type.Literal('cookie')], {
        description: 'Where the token is: `header` (Authorization: Bearer) or `cookie`; default `header`'
      })
    ),
    cookieName: Type.Optional(Type.String({ minLength: 1, description: 'Default `token`' }))
  },
  { additionalProperties: false, description: 'Authentication by JSON Web Tokens' }
)
export type JwtOptions = Static<typeof JwtOptionsSchema>

/** Validates the options and fills in the defaults. @throws HTTP_ERR_BAD_OPTION */
export function resolveJwtOptions(options: JwtOptions, log?: KeySetSettings['log']) {
  requireOptions(JwtOptionsSchema, options, HTTP_ERR_BAD_OPTION)
  const { algorithm = 'HS256', extractFrom = 'header', cookieName = 'token' } = options
  return {
    key: resolveKey(options, algorithm, log),
    algorithm,
    issuer: options.issuer,
    audience: options.audience,
    extractFrom,
    cookieName
  }
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
  return createKeySet(jwksUrl, algorithm, {
    log,
    ...(jwksMaxStale !== undefined && { maxStale: jwksMaxStale })
  })
}
