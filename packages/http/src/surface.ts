import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Static, TSchema } from '@sinclair/typebox'
import type { OnDisconnect } from '@svc/contract'
import type { AddressedRequest, AdmittingSurface, Exposed, OpenReplies, RunEngine } from '@svc/surface'
import type { FastifyBaseLogger, FastifyInstance, FastifyTypeProvider, RawServerDefault } from 'fastify'
import type { HttpPolicy } from './auth/policy.ts'

/** Shared by all routes. */
export interface Surface extends AdmittingSurface {
  readonly runs: RunEngine
  readonly exposed: Exposed
  readonly policy: HttpPolicy
  readonly replies: OpenReplies
  /** For runs whose body does not choose. */
  readonly onDisconnect: OnDisconnect
  /** Milliseconds between comments on a silent event stream. */
  readonly heartbeat: number
  /** What links in the reply to a request begin with: the prefix of the routes as the client reaches it. */
  baseOf(request: AddressedRequest): string
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
