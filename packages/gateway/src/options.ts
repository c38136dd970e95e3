import { Type, type Static } from '@sinclair/typebox'
import type { Authenticate, Credentials, OnDisconnect } from '@svc/registry'
import {
  EXPOSED_OPTIONS,
  millisecondsSchema,
  OnDisconnectSchema,
  POLICY_OPTIONS,
  requireOptions
} from '@svc/registry/kit'
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

const fn = Type.Function([], Type.Unknown())
const bound = (description: string) =>
  Type.Optional(Type.Integer({ minimum: 1, maximum: 2_147_483_647, description }))

/** Options of the plugin. */
export const GatewayOptionsSchema = Type.Object(
  {
    ...EXPOSED_OPTIONS,
    io: Type.Optional(
      Type.Unsafe<Server>(
        Type.Object({}, { description: 'An existing server; default `fastify.io`, created if absent' })
      )
    ),
    namespace: Type.Optional(
      Type.String({ pattern: '^/[^,?#]*$', description: 'The Socket.IO namespace; default `/`' })
    ),
    path: Type.Optional(
      Type.String({
        pattern: '^/.*[^/]$',
        description: 'Path of the created server; default `/socket.io`'
      })
    ),
    ...POLICY_OPTIONS,
    cookieName: Type.Optional(
      Type.String({ minLength: 1, description: 'The cookie that may carry the token; default `token`' })
    ),
    middleware: Type.Optional(
      Type.Unsafe<GatewayMiddleware | readonly GatewayMiddleware[]>(
        Type.Union([fn, Type.Array(fn)], { description: 'Middleware of the namespace, one or a list' })
      )
    ),
    cors: Type.Optional(
      Type.Unsafe<boolean | GatewayCors>(
        Type.Union([Type.Boolean(), CorsOptionsSchema], {
          description: '`true`: pages of every origin, without cookies; or the `cors` of Socket.IO'
        })
      )
    ),
    limits: Type.Optional(
      Type.Object(
        {
          payload: bound('Bytes of a message; default 1,000,000'),
          jsonDepth: Type.Optional(
            Type.Integer({
              minimum: 1,
              maximum: 1000,
              description: 'Levels of objects and lists in a payload; default 64'
            })
          ),
          eventsPerSecond: bound('Packets of one connection, of every type; default 50'),
          runs: bound('Runs that one socket follows at once; default 16'),
          handshake: bound('Bytes of a connection before a namespace admits it; default 65,536'),
          waiting: bound('Concurrent connections that no namespace has admitted; default 1,000')
        },
        { additionalProperties: false }
      )
    ),
    onDisconnect: Type.Optional(
      Type.Unsafe<OnDisconnect>({
        ...OnDisconnectSchema,
        description: '`cancel` or `continue`, for runs whose payload does not choose; default `cancel`'
      })
    ),
    reconnectGrace: Type.Optional(
      millisecondsSchema('Milliseconds after a disconnect until its runs are canceled; default 10,000', 0)
    ),
    exposeToolArgs: Type.Optional(
      Type.Boolean({ description: 'Whether `tool.call` events include the arguments; default `false`' })
    ),
    asyncApi: Type.Optional(
      Type.Unsafe<boolean | AsyncApiOptions>(
        Type.Union([Type.Boolean(), AsyncApiOptionsSchema], {
          description: 'Serves the AsyncAPI document: `true` or AsyncApiOptions; default `false`'
        })
      )
    )
  },
  { additionalProperties: false }
)
export type GatewayOptions = Omit<Static<typeof GatewayOptionsSchema>, 'authenticate'> & {
  authenticate?: GatewayAuthenticate | false
}

/** Validates the options and fills in the defaults. @throws GTW_ERR_BAD_OPTION */
export function resolveOptions(given: GatewayOptions & RegisterOptions) {
  const { prefix: _prefix, logLevel: _level, logSerializers: _serializers, ...options } = given
  requireOptions(GatewayOptionsSchema, options, GTW_ERR_BAD_OPTION)
  const { middleware = [], cors = false } = options
  if (typeof cors === 'object') requireOrigin(cors)
  const { io } = options as { io?: Partial<Server> }
  if (io !== undefined && typeof io.of !== 'function')
    throw new GTW_ERR_BAD_OPTION('io: it must be a Socket.IO Server')
  for (const key of ['path', 'cors'] as const) {
    if (io !== undefined && options[key] !== undefined)
      throw new GTW_ERR_BAD_OPTION(`${key}: set it on the server that is passed as io`)
  }
  return {
    ...options,
    namespace: options.namespace ?? '/',
    path: options.path ?? '/socket.io',
    cookieName: options.cookieName ?? 'token',
    middleware: (Array.isArray(middleware) ? middleware : [middleware]) as readonly GatewayMiddleware[],
    cors: cors === true ? { origin: '*' } : cors === false ? undefined : cors,
    limits: resolveLimits(options.limits),
    onDisconnect: options.onDisconnect ?? 'cancel',
    reconnectGrace: options.reconnectGrace ?? 10_000,
    exposeToolArgs: options.exposeToolArgs ?? false,
    asyncApi: resolveAsyncApi(options.asyncApi)
  }
}
export type GatewaySettings = ReturnType<typeof resolveOptions>

/** Fills in the default limits. */
export function resolveLimits(limits: GatewayOptions['limits'] = {}) {
  return {
    payload: limits.payload ?? 1_000_000,
    jsonDepth: limits.jsonDepth ?? 64,
    eventsPerSecond: limits.eventsPerSecond ?? 50,
    runs: limits.runs ?? 16,
    handshake: limits.handshake ?? 65_536,
    waiting: limits.waiting ?? 1_000
  }
}
