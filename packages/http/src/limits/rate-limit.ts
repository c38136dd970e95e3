import rateLimit, { type RateLimitPluginOptions } from '@fastify/rate-limit'
import { ANONYMOUS } from '@svc/registry'
import type { FastifyRequest } from 'fastify'
import { HTTP_ERR_RATE_LIMITED } from '../errors.ts'
import type { HttpScope } from '../type-provider.ts'

/** Limits how often one caller may come: by principal, without credentials by address. */
export async function limitRate(scope: HttpScope, options: RateLimitPluginOptions): Promise<void> {
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
