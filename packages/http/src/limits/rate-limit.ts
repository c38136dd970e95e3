import type { RateLimitPluginOptions } from '@fastify/rate-limit'
import { Type } from '@sinclair/typebox'
import {
  ANONYMOUS,
  functionSchema,
  objectSchema,
  optionsSchema,
  unlessLate,
  type Counted,
  type CounterStore,
  type CounterWindow
} from '@svc/contract'
import { createInProcessCounterStore } from '@svc/surface'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { HTTP_ERR_RATE_LIMITED } from '../errors.ts'

/**
 * Limits requests per principal, or per IP address without credentials.
 * @param counters of stores that several nodes share: they count together, unless the options bring a store
 */
export async function limitRate(
  scope: Pick<FastifyInstance, 'register' | 'prefix'>,
  options: RateLimitPluginOptions,
  counters: CounterStore | undefined
): Promise<void> {
  await scope.register(import('@fastify/rate-limit'), {
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
const amount = Type.Number({ minimum: 0 })

/** All options of `@fastify/rate-limit`; strict, since that silently replaces invalid ones by its defaults. */
export const RateLimitOptionsSchema = optionsSchema<RateLimitPluginOptions>({
  global: Type.Boolean(),
  max: Type.Union([amount, fn]),
  timeWindow: Type.Union([amount, Type.String(), fn]),
  hook: Type.Unsafe<Typed<'hook'>>(Type.String()),
  cache: amount,
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

/** What `@fastify/rate-limit` counts with. */
type Store = NonNullable<RateLimitPluginOptions['store']>
type Counting = InstanceType<Store>

/** What its stores are given, beyond its types; `routeInfo` by routes with options of their own. */
interface Given {
  readonly continueExceeding?: boolean
  readonly exponentialBackoff?: boolean
  readonly routeInfo?: { readonly method?: unknown; readonly url?: string }
}

/** Milliseconds for the store to count a request. */
const PATIENCE = 500
/** Milliseconds that a process counts by itself after the store failed. */
const PAUSE = 1_000

/** Counts with a store, and without it while that fails. */
class PatientCounter {
  readonly #counters: CounterStore
  readonly #own = createInProcessCounterStore()
  #ownUntil = -Infinity

  constructor(counters: CounterStore) {
    this.#counters = counters
  }

  async increment(key: string, window: CounterWindow): Promise<Counted> {
    if (performance.now() < this.#ownUntil) return this.#own.increment(key, window)
    try {
      return await unlessLate(PATIENCE, () => new Error('timeout'), this.#counters.increment(key, window))
    } catch {
      // The engine logs the failures of its stores.
      this.#ownUntil = performance.now() + PAUSE
      return this.#own.increment(key, window)
    }
  }
}

/**
 * Creates a store of `@fastify/rate-limit` that counts over all nodes. While the counters fail, or take longer than 500 ms, each node
 * counts by itself.
 * @param place distinguishes the limits of several plugins on the same stores
 */
function countOverNodes(counters: CounterStore, place: string): Store {
  const counter = new PatientCounter(counters)

  return class SharedCounts implements Counting {
    readonly #place: string
    readonly #extension: CounterWindow['extension']

    constructor(given: object) {
      const { continueExceeding, exponentialBackoff, routeInfo } = given as Given
      const { method, url } = routeInfo ?? {}
      this.#place = routeInfo === undefined ? place : `${place} ${String(method)} ${url}`
      this.#extension = continueExceeding ? 'restart' : exponentialBackoff ? 'double' : undefined
    }

    incr(key: string, callback: Callback, timeWindow: number, max: number): void {
      const extension = this.#extension
      const window = { length: timeWindow, ...(extension && { max, extension }) }
      void answer(counter.increment(`rate-limit ${this.#place} ${key}`, window), callback)
    }

    child(options: object): Counting {
      return new SharedCounts(options)
    }
  }
}

type Callback = Parameters<Counting['incr']>[1]

async function answer(counting: Promise<Counted>, callback: Callback): Promise<void> {
  const { count, left } = await counting
  callback(null, { current: count, ttl: left })
}
