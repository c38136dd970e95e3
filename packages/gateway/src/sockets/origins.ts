import type { IncomingHttpHeaders } from 'node:http'
import { Type, type TSchema } from '@sinclair/typebox'
import { isForeignOrigin } from '@svc/surface'
import type { ServerOptions } from 'socket.io'
import { GTW_ERR_BAD_OPTION } from '../errors.ts'

/** The `cors` of Socket.IO, except as a function. */
export interface GatewayCors extends Exclude<ServerOptions['cors'], undefined | Function> {}

const list = Type.Optional(Type.Union([Type.String(), Type.Array(Type.String())]))

/** All options of Socket.IO's `cors`; strict, since a misspelt one would admit every origin. */
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

/** Checks that the options name their origins. @throws GTW_ERR_BAD_OPTION */
export function requireOrigin({ origin }: GatewayCors): void {
  if (origin === undefined)
    throw new GTW_ERR_BAD_OPTION('cors/origin: it is required; use `cors: true` for every origin')
}

/**
 * Whether a handshake with cookies comes from a foreign page. Browsers open WebSockets to any host, with cookies, whatever
 * CORS says, and a token beside them may be any text. Only named origins may use cookies: neither `*`, `true` nor a function counts.
 */
export function isRefusedOrigin(headers: IncomingHttpHeaders, cors: GatewayCors | undefined): boolean {
  const { origin, host = '' } = headers
  if (!isForeignOrigin(headers, host)) return false
  return origin === undefined || !names(cors?.origin, origin)
}

function names(allowed: unknown, origin: string): boolean {
  if (Array.isArray(allowed)) return allowed.some((each) => names(each, origin))
  return allowed instanceof RegExp ? new RegExp(allowed).test(origin) : allowed === origin
}
