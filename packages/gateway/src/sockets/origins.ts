import type { IncomingHttpHeaders } from 'node:http'
import { Type, type TSchema } from '@sinclair/typebox'
import { isForeignOrigin } from '@svc/registry/kit'
import type { ServerOptions } from 'socket.io'
import { GTW_ERR_BAD_OPTION } from '../errors.ts'

/** The `cors` of Socket.IO, but for a function. */
export interface GatewayCors extends Exclude<ServerOptions['cors'], undefined | Function> {}

const list = Type.Optional(Type.Union([Type.String(), Type.Array(Type.String())]))

/** All that Socket.IO takes: one that is misspelt would let every origin in. */
export const CorsOptionsSchema = Type.Object(
  {
    origin: Type.Optional(Type.Unknown()),
    methods: list,
    allowedHeaders: list,
    exposedHeaders: list,
    credentials: Type.Optional(Type.Boolean()),
    maxAge: Type.Optional(Type.Number()),
    preflightContinue: Type.Optional(Type.Boolean()),
    optionsSuccessStatus: Type.Optional(Type.Integer())
  } satisfies Record<keyof GatewayCors, TSchema>,
  { additionalProperties: false }
)

/** Makes sure that options say which origins they are for. @throws GTW_ERR_BAD_OPTION */
export function requireOrigin({ origin }: GatewayCors): void {
  if (origin === undefined)
    throw new GTW_ERR_BAD_OPTION('cors.origin: it must be given; every origin is `cors: true`')
}

/**
 * Whether a handshake with cookies comes from a page that may not use them. Browsers open WebSockets to everywhere, with
 * cookies, whatever CORS says. `*` and `true` allow no cookies, and a function is not asked: origins must be named.
 */
export function isRefusedOrigin(headers: IncomingHttpHeaders, cors: GatewayCors | undefined): boolean {
  if (headers.cookie === undefined || headers.authorization !== undefined) return false
  const { origin, host = '' } = headers
  if (!isForeignOrigin(headers, host)) return false
  return origin === undefined || !names(cors?.origin, origin)
}

function names(allowed: unknown, origin: string): boolean {
  if (Array.isArray(allowed)) return allowed.some((each) => names(each, origin))
  return allowed instanceof RegExp ? new RegExp(allowed).test(origin) : allowed === origin
}
