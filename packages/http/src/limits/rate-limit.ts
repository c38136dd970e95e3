import rateLimit, { type RateLimitPluginOptions } from '@fastify/rate-limit'
import { Type, type TSchema } from '@sinclair/typebox'
import { ANONYMOUS } from '@svc/registry'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { HTTP_ERR_RATE_LIMITED } from '../errors.ts'

/** Limits requests per principal, or per IP address without credentials. */
export async function limitRate(
  scope: Pick<FastifyInstance, 'register'>,
  options: RateLimitPluginOptions
): Promise<void> {
  await scope.register(rateLimit, {
    keyGenerator: callerOf,
    ...options,
    errorResponseBuilder: (_request, { ttl }) =>
      Object.assign(new HTTP_ERR_RATE_LIMITED(), { retryAfter: ttl / 1000 })
  })
}

function callerOf({ principal, ip }: FastifyRequest): string {
  return principal === ANONYMOUS ? `ip ${ip}` : `sub ${principal.sub}`
}

const fn = Type.Function([], Type.Unknown())
const hook = Type.Optional(fn)
const flag = Type.Optional(Type.Boolean())
const count = Type.Number({ minimum: 0 })
const headers = Type.Optional(Type.Object({}))

/** All options of `@fastify/rate-limit`; strict, since that silently replaces invalid ones by its defaults. */
export const RateLimitOptionsSchema = Type.Object(
  {
    global: flag,
    max: Type.Optional(Type.Union([count, fn])),
    timeWindow: Type.Optional(Type.Union([count, Type.String(), fn])),
    hook: Type.Optional(Type.String()),
    cache: Type.Optional(count),
    allowList: Type.Optional(Type.Union([Type.Array(Type.String()), fn])),
    keyGenerator: hook,
    ipv6Subnet: Type.Optional(Type.Number({ minimum: 0, maximum: 128 })),
    // -1 disables bans.
    ban: Type.Optional(Type.Number({ minimum: -1 })),
    groupId: Type.Optional(Type.String()),
    continueExceeding: flag,
    exponentialBackoff: flag,
    enableDraftSpec: flag,
    skipOnError: flag,
    store: hook,
    redis: Type.Optional(Type.Unknown()),
    nameSpace: Type.Optional(Type.String()),
    addHeaders: headers,
    addHeadersOnExceeding: headers,
    errorResponseBuilder: hook,
    onBanReach: hook,
    onExceeding: hook,
    onExceeded: hook
  } satisfies Record<keyof RateLimitPluginOptions, TSchema>,
  { additionalProperties: false }
)
