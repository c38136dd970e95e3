import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Static, TSchema } from '@sinclair/typebox'
import type { AddressedRequest, WireSurface } from '@svc/surface'
import type { FastifyBaseLogger, FastifyInstance, FastifyTypeProvider, RawServerDefault } from 'fastify'
import type { HttpPolicy } from './auth/policy.ts'

/** Shared by all routes. */
export interface Surface extends WireSurface {
  readonly policy: HttpPolicy
  /** What links in the reply to a request begin with: the prefix of the routes as the client reaches it. */
  baseOf(this: void, request: AddressedRequest): string
}

/** Types requests and replies by the TypeBox schemas of their route. */
export interface TypeBoxTypeProvider extends FastifyTypeProvider {
  validator: this['schema'] extends TSchema ? Static<this['schema']> : unknown
  serializer: this['schema'] extends TSchema ? Static<this['schema']> : unknown
}

/** The encapsulated scope of the plugin. */
export type HttpScope = FastifyInstance<
  RawServerDefault,
  IncomingMessage,
  ServerResponse,
  FastifyBaseLogger,
  TypeBoxTypeProvider
>
