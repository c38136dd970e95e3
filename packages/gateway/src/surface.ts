import type { LiveCalls, Policy, Surface as OpenSurface } from '@svc/surface'
import type { GatewaySettings, HandshakeCredentials } from './options.ts'
import type { RunKeeper } from './sockets/run-keeper.ts'

/** Who opens a socket, and what callers may do. */
export type GatewayPolicy = Policy<HandshakeCredentials>

/** Shared by all handlers. */
export interface Surface extends OpenSurface<GatewaySettings, HandshakeCredentials> {
  readonly keeper: RunKeeper
  readonly calls: LiveCalls
  /** The namespace of events that the gateway encodes itself; undefined if the server has a parser of the app. */
  readonly encoding: string | undefined
}
