import { Type } from '@sinclair/typebox'
import {
  defined,
  functionSchema,
  MAX_TIMER,
  objectSchema,
  OnDisconnectSchema,
  optionsSchema,
  requireOptions,
  type Authenticate,
  type Credentials,
  type OnDisconnect
} from '@svc/contract'
import {
  EXPOSED_OPTIONS,
  POLICY_OPTIONS,
  SHARED_OPTIONS,
  splitRegisterOptions,
  type ExposedOptions,
  type PolicyOptions,
  type Registry
} from '@svc/surface'
import type { RegisterOptions } from 'fastify'
import type { ExtendedError, Server, Socket } from 'socket.io'
import { AsyncApiOptionsSchema, resolveAsyncApi, type AsyncApiOptions } from './asyncapi/async-api-options.ts'
import { GTW_ERR_BAD_OPTION } from './errors.ts'
import { CorsOptionsSchema, requireOrigin, type GatewayCors } from './sockets/origins.ts'

/** The credentials of a handshake. */
export interface HandshakeCredentials extends Credentials {
  /** Path of the handshake, without its query. */
  url: string
}

/** Handshake credentials → principal. */
export type GatewayAuthenticate = Authenticate<HandshakeCredentials>

/** A middleware of a Socket.IO namespace; it runs after authentication, with the caller in `socket.data.principal`. */
export type GatewayMiddleware = (socket: Socket, next: (err?: ExtendedError) => void) => unknown

/** How a client may connect. */
export type GatewayTransport = 'polling' | 'websocket'

/** Bounds of connections. */
export interface GatewayLimits {
  /** Bytes of a message; default 1,000,000. */
  payload?: number
  /** Levels of objects and lists in a payload; default that of `@svc/registry`, else 64. */
  jsonDepth?: number
  /** Packets of one connection, of every type but `voice.audio`; default 50. */
  eventsPerSecond?: number
  /** Bytes of audio of one connection, each frame counting as 2,000 at least; default 2,000,000. */
  audioBytesPerSecond?: number
  /** Runs that one socket follows at once; default 16. */
  runs?: number
  /** Bytes of a connection before a namespace admits it; default 65,536. */
  handshake?: number
  /** Concurrent connections that no namespace has admitted; default 1,000. */
  waiting?: number
}

/** Options of the plugin. */
export interface GatewayOptions extends ExposedOptions, PolicyOptions<HandshakeCredentials> {
  /** Where else to look up runnables; `false`: nowhere; default `fastify.registry`. */
  registry?: Registry | false
  /** An existing server; default `fastify.io`, created if absent. */
  io?: Server
  /** The Socket.IO namespace; default `/`. */
  namespace?: string
  /** Path of the created server; default `/socket.io`. */
  path?: string
  /** The transports of the created server; default both. Polling needs a load balancer with sticky sessions. */
  transports?: readonly GatewayTransport[]
  /** The cookie that may carry the token; default `token`. */
  cookieName?: string
  /** Middleware of the namespace, one or a list. */
  middleware?: GatewayMiddleware | readonly GatewayMiddleware[]
  /** `true`: pages of every origin, without cookies; or the `cors` of Socket.IO. */
  cors?: boolean | GatewayCors
  limits?: GatewayLimits
  /** For runs whose payload does not choose; default `cancel`. */
  onDisconnect?: OnDisconnect
  /** Whether runs take `instructions` of their callers; default that of `@svc/registry`, else `false`. */
  clientInstructions?: boolean
  /** Whether runs take `tools` that their callers serve; default that of `@svc/registry`, else `false`. */
  clientTools?: boolean
  /** Milliseconds after a disconnect until its runs are canceled; default 10,000. */
  reconnectGrace?: number
  /** Whether `tool.call` events include the arguments; default `false`. */
  exposeToolArgs?: boolean
  /** Serves the AsyncAPI document: `true` or its options; default `false`. */
  asyncApi?: boolean | AsyncApiOptions
}

const fn = functionSchema<GatewayMiddleware>()
const bound = Type.Integer({ minimum: 1, maximum: MAX_TIMER })

export const GatewayOptionsSchema = optionsSchema<GatewayOptions>({
  ...EXPOSED_OPTIONS,
  ...POLICY_OPTIONS,
  io: objectSchema<Server>(),
  namespace: Type.String({ pattern: '^/[^,?#]*$' }),
  path: Type.String({ pattern: '^/.*[^/]$' }),
  transports: Type.Array(Type.Union([Type.Literal('polling'), Type.Literal('websocket')]), {
    minItems: 1,
    uniqueItems: true
  }),
  cookieName: Type.String({ minLength: 1 }),
  middleware: Type.Unsafe<GatewayMiddleware | GatewayMiddleware[]>(Type.Union([fn, Type.Array(fn)])),
  cors: Type.Unsafe<boolean | GatewayCors>(Type.Union([Type.Boolean(), CorsOptionsSchema])),
  limits: optionsSchema<GatewayLimits>({
    payload: bound,
    jsonDepth: SHARED_OPTIONS.jsonDepth,
    eventsPerSecond: bound,
    audioBytesPerSecond: bound,
    runs: bound,
    handshake: bound,
    waiting: bound
  }),
  onDisconnect: OnDisconnectSchema,
  clientInstructions: SHARED_OPTIONS.clientInstructions,
  clientTools: SHARED_OPTIONS.clientTools,
  reconnectGrace: Type.Integer({ minimum: 0, maximum: MAX_TIMER }),
  exposeToolArgs: Type.Boolean(),
  asyncApi: Type.Unsafe<boolean | AsyncApiOptions>(Type.Union([Type.Boolean(), AsyncApiOptionsSchema]))
})

const DEFAULTS = Object.freeze({
  namespace: '/',
  path: '/socket.io',
  cookieName: 'token',
  onDisconnect: 'cancel',
  reconnectGrace: 10_000,
  exposeToolArgs: false
})

/** What has no default of the engine. */
type OwnLimits = Required<Omit<GatewayLimits, 'jsonDepth'>>

const DEFAULT_LIMITS: Readonly<OwnLimits> = Object.freeze({
  payload: 1_000_000,
  eventsPerSecond: 50,
  audioBytesPerSecond: 2_000_000,
  runs: 16,
  handshake: 65_536,
  waiting: 1_000
})

/** Validates the options and fills in the defaults. @throws GTW_ERR_BAD_OPTION */
export function resolveOptions(given: GatewayOptions & RegisterOptions) {
  const { options } = splitRegisterOptions<GatewayOptions>(given)
  requireOptions(GatewayOptionsSchema, options, GTW_ERR_BAD_OPTION)
  const { middleware = [], cors = false } = options
  if (typeof cors === 'object') requireOrigin(cors)
  const { io } = options as { io?: Partial<Server> }
  if (io !== undefined && typeof io.of !== 'function')
    throw new GTW_ERR_BAD_OPTION('io: it must be a Socket.IO Server')
  for (const key of ['path', 'transports', 'cors'] as const) {
    if (io !== undefined && options[key] !== undefined)
      throw new GTW_ERR_BAD_OPTION(`${key}: set it on the server that is passed as io`)
  }
  return {
    ...DEFAULTS,
    ...defined(options),
    middleware: (Array.isArray(middleware) ? middleware : [middleware]) as readonly GatewayMiddleware[],
    cors: cors === true ? { origin: '*' } : cors === false ? undefined : cors,
    ...defined({ jsonDepth: options.limits?.jsonDepth }),
    limits: resolveLimits(options.limits),
    asyncApi: resolveAsyncApi(options.asyncApi)
  }
}
export type GatewaySettings = ReturnType<typeof resolveOptions>

/** Fills in the default limits; given ones may be inherited, as in a class of settings. */
export function resolveLimits(limits: GatewayLimits = {}): OwnLimits {
  const names = Object.keys(DEFAULT_LIMITS) as (keyof OwnLimits)[]
  return Object.fromEntries(names.map((name) => [name, limits[name] ?? DEFAULT_LIMITS[name]])) as OwnLimits
}
