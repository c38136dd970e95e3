import type { FastifyCorsOptions } from '@fastify/cors'
import { Type, type TSchema } from '@sinclair/typebox'
import { HTTP_ERR_BAD_OPTION } from '../errors.ts'

const flag = Type.Optional(Type.Boolean())
const list = Type.Optional(Type.Union([Type.String(), Type.Array(Type.String())]))

/** All options of `@fastify/cors`; strict, since a misspelt one would open the routes to every origin. */
export const CorsOptionsSchema = Type.Object(
  {
    hook: Type.Optional(Type.String()),
    delegator: Type.Optional(Type.Function([], Type.Unknown())),
    origin: Type.Optional(Type.Unknown()),
    credentials: flag,
    exposedHeaders: list,
    allowedHeaders: list,
    methods: list,
    maxAge: Type.Optional(Type.Number()),
    cacheControl: Type.Optional(Type.Union([Type.Number(), Type.String()])),
    preflightContinue: flag,
    optionsSuccessStatus: Type.Optional(Type.Integer()),
    preflight: flag,
    strictPreflight: flag,
    hideOptionsRoute: flag,
    logLevel: Type.Optional(Type.String())
  } satisfies Record<keyof FastifyCorsOptions, TSchema>,
  { additionalProperties: false }
)

/** Checks that the options name their origins. @throws HTTP_ERR_BAD_OPTION */
export function requireOrigin({ origin, delegator }: FastifyCorsOptions): void {
  if (origin === undefined && delegator === undefined)
    throw new HTTP_ERR_BAD_OPTION('cors/origin: it is required; use `cors: true` for every origin')
}
