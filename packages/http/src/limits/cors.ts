import cors, { type FastifyCorsOptions } from '@fastify/cors'
import type { FastifyInstance, RouteShorthandOptionsWithHandler } from 'fastify'
import { HTTP_ERR_BAD_OPTION } from '../errors.ts'
import type { HttpScope } from '../surface.ts'

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
 * Lets pages of other origins use the routes that are added from now on: `true` is every origin, without credentials.
 * @throws HTTP_ERR_BAD_OPTION for every origin together with credentials, and where the app has `@fastify/cors` itself: then
 * or, if it is registered later, when the app gets ready
 */
export async function allowOrigins(scope: HttpScope, given: true | FastifyCorsOptions): Promise<void> {
  const options = given === true ? {} : given
  if (await isOpenWithCredentials(options))
    throw new HTTP_ERR_BAD_OPTION(
      'cors: every origin together with credentials lets any page act for its visitor'
    )
  requireNoOther(scope)
  scope.addHook('onReady', async () => requireNoOther(scope))

  const preflight = await addCorsHook(scope, {
    methods: ['GET', 'HEAD', 'POST', 'DELETE'],
    exposedHeaders: EXPOSED_HEADERS,
    ...options
  })
  const paths = new Set<string>()
  scope.addHook('onRoute', function addPreflight({ url, routePath }) {
    if (paths.has(url)) return
    paths.add(url)
    this.route({
      ...preflight,
      method: 'OPTIONS',
      url: routePath,
      prefixTrailingSlash: 'slash',
      config: { access: 'open', rateLimit: false }
    })
  })
}

// Its hooks reach every route within its scope, and the first of two to see a preflight answers it.
function requireNoOther(scope: HttpScope): void {
  let around = Object.getPrototypeOf(scope) as Partial<FastifyInstance>
  for (; around.hasPlugin !== undefined; around = Object.getPrototypeOf(around) as Partial<FastifyInstance>)
    if (around.hasPlugin('@fastify/cors'))
      throw new HTTP_ERR_BAD_OPTION(
        'cors: the app has @fastify/cors, which answers for these routes too; leave one of them out'
      )
}

/** Adds the hook of `@fastify/cors` to a scope, and gives its route for preflights, which would be for all paths of the app. */
function addCorsHook(
  scope: HttpScope,
  options: FastifyCorsOptions
): Promise<RouteShorthandOptionsWithHandler> {
  return new Promise((resolve, reject) => {
    const routeless = Object.create(scope, {
      options: {
        value: (_path: string, route: object, handler: RouteShorthandOptionsWithHandler['handler']) =>
          resolve({ ...route, handler })
      }
    }) as FastifyInstance
    cors(routeless, options, (err) => err && reject(err))
  })
}

// Pages of anyone; `null` is that of a sandboxed frame, which any page may have.
const STRANGERS = ['https://a-page-of-nobody.invalid', 'http://a-page-of-nobody.invalid:8080', 'null']
/** Milliseconds that a function of the options has to tell. */
const PATIENCE = 1_000

type Origin = FastifyCorsOptions['origin']

async function isOpenWithCredentials({ delegator, ...options }: FastifyCorsOptions): Promise<boolean> {
  if (delegator === undefined && options.credentials !== true) return false
  for (const stranger of STRANGERS) {
    const request = { method: 'GET', url: '/', headers: { origin: stranger } }
    const chosen = delegator && (await ask<FastifyCorsOptions>(delegator, request))
    const { credentials, origin } = { ...options, ...chosen }
    if (credentials === true && (await takes(origin, stranger))) return true
  }
  return false
}

async function takes(origin: Origin | undefined, stranger: string): Promise<boolean> {
  if (origin === undefined || origin === true || origin === '*' || origin === stranger) return true
  // A copy, as a test may move on within it.
  if (origin instanceof RegExp) return new RegExp(origin).test(stranger)
  if (Array.isArray(origin)) {
    for (const each of origin) if (await takes(each, stranger)) return true
    return false
  }
  if (typeof origin !== 'function') return false
  const answer = await ask<Origin>(origin, stranger)
  return answer !== undefined && takes(answer, stranger)
}

/** Calls a function that answers by a callback or a promise; what it throws, or does not tell in time, is no answer. */
async function ask<T>(fn: unknown, about: unknown): Promise<T | undefined> {
  const call = fn as (about: unknown, done: (err: unknown, answer?: T) => void) => T | Promise<T> | undefined
  return new Promise<T | undefined>((resolve) => {
    const timer = setTimeout(resolve, PATIENCE, undefined)
    const settle = (answer?: T) => {
      clearTimeout(timer)
      resolve(answer)
    }
    try {
      const promised = call(about, (err, answer) => settle(err ? undefined : answer))
      if (promised instanceof Promise) promised.then(settle, () => settle())
    } catch {
      settle()
    }
  })
}
