import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Static, TSchema } from '@sinclair/typebox'
import type { AdmissionErrors, Exposed, OnDisconnect, RunEngine } from '@svc/registry'
import type { OpenReplies } from '@svc/registry/sse'
import type { FastifyBaseLogger, FastifyInstance, FastifyTypeProvider, RawServerDefault } from 'fastify'
import type { HttpPolicy } from './auth/policy.ts'

/** What the routes share. */
export interface Surface {
  readonly runs: RunEngine
  readonly exposed: Exposed
  readonly policy: HttpPolicy
  readonly errors: AdmissionErrors
  readonly replies: OpenReplies
  /** Where the body of a run does not say. */
  readonly onDisconnect: OnDisconnect
  /** Milliseconds between comments on a silent event stream. */
  readonly heartbeat: number
  /** Header, in lower case → the provider whose key it holds. */
  readonly providerKeyHeaders: Readonly<Record<string, string>>
}

/** Types requests and replies by the TypeBox schemas of their route. */
export interface TypeBoxTypeProvider extends FastifyTypeProvider {
  validator: this['schema'] extends TSchema ? Static<this['schema']> : unknown
  serializer: this['schema'] extends TSchema ? Static<this['schema']> : unknown
}

/** The plugin's own scope of the app. */
export type HttpScope = FastifyInstance<
  RawServerDefault,
  IncomingMessage,
  ServerResponse,
  FastifyBaseLogger,
  TypeBoxTypeProvider
>
