import { Type } from '@sinclair/typebox'
import {
  EXPOSED_OPTIONS,
  POLICY_OPTIONS,
  SHARED_OPTIONS,
  splitRegisterOptions,
  type NamedRunnables,
  type PolicyOptions,
  type Registry
} from '@svc/surface'
import { defined, MAX_TIMER, optionsSchema, requireOptions } from '@svc/contract'
import type { RegisterOptions } from 'fastify'
import { RT_ERR_BAD_OPTION } from './errors.ts'

/** Bounds of connections. */
export interface RealtimeLimits {
  /** Bytes of an event; default 1,048,576. */
  payload?: number
  /** Levels of objects and lists in an event; default that of `@svc/registry`, else 64. */
  jsonDepth?: number
  /** Events of one connection; default 200. */
  eventsPerSecond?: number
}

/** Options of the plugin. */
export interface RealtimeOptions extends PolicyOptions {
  /** Voice agents to expose, as a list or by name; looked up before the registry. */
  agents?: NamedRunnables
  /** Where else to look up voice agents; `false`: nowhere; default `fastify.registry`. */
  registry?: Registry | false
  /** Whether sessions take `instructions` of their clients; default that of `@svc/registry`, else `true`. */
  clientInstructions?: boolean
  /** Whether sessions take `tools` that their clients serve; default that of `@svc/registry`, else `true`. */
  clientTools?: boolean
  /** At least 32 characters to encrypt client secrets with, the same on every node; default, for one node: random. */
  secret?: string
  /** Seconds that a client secret is valid, unless its request says; default 600. */
  secretLifetime?: number
  /** Milliseconds to admit a client, with `authenticate` and `authorize`; default 10,000. */
  handshakeTimeout?: number
  /** Milliseconds for a lost connection to come back with `?call=`; default 10,000. */
  reconnectGrace?: number
  /** Milliseconds between pings; a client that answers none is disconnected; default that of `@svc/registry`, else 10,000. */
  heartbeat?: number
  limits?: RealtimeLimits
}

const bound = Type.Integer({ minimum: 1, maximum: MAX_TIMER })

export const RealtimeOptionsSchema = optionsSchema<RealtimeOptions>({
  agents: EXPOSED_OPTIONS.agents,
  registry: EXPOSED_OPTIONS.registry,
  ...POLICY_OPTIONS,
  clientInstructions: SHARED_OPTIONS.clientInstructions,
  clientTools: SHARED_OPTIONS.clientTools,
  secret: Type.String({ minLength: 32 }),
  secretLifetime: Type.Integer({ minimum: 10, maximum: 7_200 }),
  handshakeTimeout: bound,
  reconnectGrace: Type.Integer({ minimum: 0, maximum: MAX_TIMER }),
  heartbeat: SHARED_OPTIONS.heartbeat,
  limits: optionsSchema<RealtimeLimits>({
    payload: bound,
    jsonDepth: SHARED_OPTIONS.jsonDepth,
    eventsPerSecond: bound
  })
})

const DEFAULTS = Object.freeze({
  secretLifetime: 600,
  handshakeTimeout: 10_000,
  reconnectGrace: 10_000
})
const DEFAULT_LIMITS = Object.freeze({ payload: 1_048_576, eventsPerSecond: 200 })

/** Validates the options and fills in the defaults. @throws RT_ERR_BAD_OPTION */
export function resolveOptions(given: RealtimeOptions & RegisterOptions) {
  const { options, registerOptions } = splitRegisterOptions<RealtimeOptions>(given)
  requireOptions(RealtimeOptionsSchema, options, RT_ERR_BAD_OPTION)
  const limits = { ...DEFAULT_LIMITS, ...defined(options.limits ?? {}) }
  const { payload: bodyLimit, jsonDepth } = options.limits ?? {}
  return { ...DEFAULTS, ...defined(options), ...defined({ bodyLimit, jsonDepth }), limits, registerOptions }
}
export type RealtimeSettings = ReturnType<typeof resolveOptions>
