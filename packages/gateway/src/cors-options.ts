import { Type, type TSchema } from '@sinclair/typebox'
import type { ServerOptions } from 'socket.io'
import { GTW_ERR_BAD_OPTION } from './errors.ts'

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
