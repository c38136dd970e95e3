import type { FastifyCorsOptions } from '@fastify/cors'
import { Type } from '@sinclair/typebox'
import { functionSchema, optionsSchema } from '@svc/contract'
import type { FastifyInstance, RouteShorthandOptionsWithHandler } from 'fastify'
import { HTTP_ERR_BAD_OPTION } from '../errors.ts'

// Response headers that pages of other origins may read.
const EXPOSED_HEADERS = [
  'x-run-id',
  'location',
  'preference-applied',
  'idempotency-replayed',
  'retry-after',
  'www-authenticate',
  'accept-ranges',
  'content-disposition',
  'content-range',
  'etag',
  'x-ratelimit-limit',
  'x-ratelimit-remaining',
  'x-ratelimit-reset'
]

/**
 * Opens the routes added from now on to pages of other origins; `true` means every origin, without credentials.
 * @throws HTTP_ERR_BAD_OPTION for every origin with credentials, and if the app has `@fastify/cors` itself; if that is
 * registered later, when the app becomes ready
 */
export async function allowOrigins(scope: FastifyInstance, given: true | FastifyCorsOptions): Promise<void> {
  const options = given === true ? {} : given
  if (await isOpenWithCredentials(options))
    throw new HTTP_ERR_BAD_OPTION('cors: every origin with credentials lets any page act for its visitor')
  refuseSecondCors(scope)
  scope.addHook('onReady', async () => refuseSecondCors(scope))

  const preflight = await addCorsHook(scope, {
    methods: ['GET', 'HEAD', 'POST', 'PATCH', 'DELETE'],
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

// Hooks of another instance reach these routes too, and the first one answers a preflight.
function refuseSecondCors(scope: FastifyInstance): void {
  let around = Object.getPrototypeOf(scope) as Partial<FastifyInstance>
  for (; around.hasPlugin !== undefined; around = Object.getPrototypeOf(around) as Partial<FastifyInstance>)
    if (around.hasPlugin('@fastify/cors'))
      throw new HTTP_ERR_BAD_OPTION(
        'cors: the app has @fastify/cors, which also covers these routes; remove one of the two'
      )
}

/** Adds the hook of `@fastify/cors` and returns its preflight route, which it would add for all paths of the app. */
async function addCorsHook(
  scope: FastifyInstance,
  options: FastifyCorsOptions
): Promise<RouteShorthandOptionsWithHandler> {
  const { default: cors } = await import('@fastify/cors')
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

// Origins that no app trusts; any page can send `null` from a sandboxed frame.
const UNTRUSTED = ['https://untrusted.invalid', 'http://untrusted.invalid:8080', 'null']
/** Milliseconds within which a function of the options must answer. */
const ANSWER_TIMEOUT = 1_000

type Origin = FastifyCorsOptions['origin']

async function isOpenWithCredentials({ delegator, ...options }: FastifyCorsOptions): Promise<boolean> {
  if (delegator === undefined && options.credentials !== true) return false
  for (const untrusted of UNTRUSTED) {
    const request = { method: 'GET', url: '/', headers: { origin: untrusted } }
    const chosen = delegator && (await ask<FastifyCorsOptions>(delegator, request))
    const { credentials, origin } = { ...options, ...chosen }
    if (credentials === true && (await accepts(origin, untrusted))) return true
  }
  return false
}

async function accepts(origin: Origin | undefined, asked: string): Promise<boolean> {
  if (origin === undefined || origin === true || origin === '*' || origin === asked) return true
  // A copy: `test` advances `lastIndex` of a global one.
  if (origin instanceof RegExp) return new RegExp(origin).test(asked)
  if (Array.isArray(origin)) {
    for (const each of origin) if (await accepts(each, asked)) return true
    return false
  }
  if (typeof origin !== 'function') return false
  const answer = await ask<Origin>(origin, asked)
  return answer !== undefined && accepts(answer, asked)
}

/** Calls a function that answers by callback or promise; undefined if it fails or answers too late. */
async function ask<T>(fn: unknown, about: unknown): Promise<T | undefined> {
  const call = fn as (about: unknown, done: (err: unknown, answer?: T) => void) => T | Promise<T> | undefined
  return new Promise<T | undefined>((resolve) => {
    const timer = setTimeout(resolve, ANSWER_TIMEOUT, undefined)
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
