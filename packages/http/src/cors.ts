import cors, { type FastifyCorsOptions } from '@fastify/cors'
import { HTTP_ERR_BAD_OPTION } from './errors.ts'
import type { HttpScope } from './type-provider.ts'

// What pages of other origins may read, besides what they always may.
const EXPOSED_HEADERS = [
  ...[
    'x-run-id',
    'location',
    'preference-applied',
    'idempotency-replayed',
    'retry-after',
    'www-authenticate'
  ],
  ...['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset']
]

/**
 * Lets pages of other origins use the routes: `true` is every origin, without credentials.
 * @throws HTTP_ERR_BAD_OPTION for every origin together with credentials
 */
export async function allowOrigins(scope: HttpScope, given: true | FastifyCorsOptions): Promise<void> {
  const options = given === true ? {} : given
  if (options.credentials === true && takesEveryOrigin(options.origin))
    throw new HTTP_ERR_BAD_OPTION(
      'cors: every origin together with credentials lets any page act for its visitor'
    )
  await scope.register(cors, {
    methods: ['GET', 'HEAD', 'POST', 'DELETE'],
    exposedHeaders: EXPOSED_HEADERS,
    ...options
  })
}

function takesEveryOrigin(origin: FastifyCorsOptions['origin']): boolean {
  if (origin === undefined || origin === true || origin === '*') return true
  if (origin instanceof RegExp) return origin.test('https://a-page-of-nobody.invalid')
  return Array.isArray(origin) && origin.some((each) => takesEveryOrigin(each))
}
