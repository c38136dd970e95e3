import type { FastifyCorsOptions } from '@fastify/cors'
import { Type } from '@sinclair/typebox'
import { functionSchema, optionsSchema } from '@svc/contract'
import { HTTP_ERR_BAD_OPTION } from '../errors.ts'

type Typed<Name extends keyof FastifyCorsOptions> = NonNullable<FastifyCorsOptions[Name]>
const list = Type.Union([Type.String(), Type.Array(Type.String())])

/** All options of `@fastify/cors`; strict, since a misspelt one would open the routes to every origin. */
export const CorsOptionsSchema = optionsSchema<FastifyCorsOptions>({
  hook: Type.Unsafe<Typed<'hook'>>(Type.String()),
  delegator: functionSchema<Typed<'delegator'>>(),
  origin: Type.Unsafe<Typed<'origin'>>(Type.Unknown()),
  credentials: Type.Boolean(),
  exposedHeaders: list,
  allowedHeaders: list,
  methods: list,
  maxAge: Type.Number(),
  cacheControl: Type.Union([Type.Number(), Type.String()]),
  preflightContinue: Type.Boolean(),
  optionsSuccessStatus: Type.Integer(),
  preflight: Type.Boolean(),
  strictPreflight: Type.Boolean(),
  hideOptionsRoute: Type.Boolean(),
  logLevel: Type.Unsafe<Typed<'logLevel'>>(Type.String())
})

/** Checks that the options name their origins. @throws HTTP_ERR_BAD_OPTION */
export function requireOrigin({ origin, delegator }: FastifyCorsOptions): void {
  if (origin === undefined && delegator === undefined)
    throw new HTTP_ERR_BAD_OPTION('cors/origin: it is required; use `cors: true` for every origin')
}
