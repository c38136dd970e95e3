import rateLimit, { type RateLimitPluginOptions } from '@fastify/rate-limit'
import { Type } from '@sinclair/typebox'
import { ANONYMOUS, functionSchema, objectSchema, optionsSchema, type CounterStore } from '@svc/contract'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { HTTP_ERR_RATE_LIMITED } from '../errors.ts'
import { countOverNodes } from './shared-counts.ts'

/**
 * Limits requests per principal, or per IP address without credentials.
 * @param counters of stores that several nodes share: they count together, unless the options bring a store
 */
export async function limitRate(
  scope: Pick<FastifyInstance, 'register' | 'prefix'>,
  options: RateLimitPluginOptions,
  counters: CounterStore | undefined
): Promise<void> {
  await scope.register(rateLimit, {
    keyGenerator: callerOf,
    ...(counters && options.redis === undefined && { store: countOverNodes(counters, scope.prefix) }),
    ...options,
    errorResponseBuilder: (_request, { ttl }) =>
      Object.assign(new HTTP_ERR_RATE_LIMITED(), { retryAfter: ttl / 1000 })
  })
}

function callerOf({ principal, ip }: FastifyRequest): string {
  return principal === ANONYMOUS ? `ip ${ip}` : `sub ${principal.sub}`
}

type Typed<Name extends keyof RateLimitPluginOptions> = NonNullable<RateLimitPluginOptions[Name]>
const fn = functionSchema<never>()
const count = Type.Number({ minimum: 0 })

/** All options of `@fastify/rate-limit`; strict, since that silently replaces invalid ones by its defaults. */
export const RateLimitOptionsSchema = optionsSchema<RateLimitPluginOptions>({
  global: Type.Boolean(),
  max: Type.Union([count, fn]),
  timeWindow: Type.Union([count, Type.String(), fn]),
  hook: Type.Unsafe<Typed<'hook'>>(Type.String()),
  cache: count,
  allowList: Type.Union([Type.Array(Type.String()), fn]),
  keyGenerator: functionSchema<Typed<'keyGenerator'>>(),
  ipv6Subnet: Type.Number({ minimum: 0, maximum: 128 }),
  // -1 disables bans.
  ban: Type.Number({ minimum: -1 }),
  groupId: Type.String(),
  continueExceeding: Type.Boolean(),
  exponentialBackoff: Type.Boolean(),
  enableDraftSpec: Type.Boolean(),
  skipOnError: Type.Boolean(),
  store: functionSchema<Typed<'store'>>(),
  redis: Type.Unknown(),
  nameSpace: Type.String(),
  addHeaders: objectSchema<Typed<'addHeaders'>>(),
  addHeadersOnExceeding: objectSchema<Typed<'addHeadersOnExceeding'>>(),
  errorResponseBuilder: functionSchema<Typed<'errorResponseBuilder'>>(),
  onBanReach: functionSchema<Typed<'onBanReach'>>(),
  onExceeding: functionSchema<Typed<'onExceeding'>>(),
  onExceeded: functionSchema<Typed<'onExceeded'>>()
})
