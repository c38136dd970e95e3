import type { AdmittingSurface, Exposed, LiveCalls, Policy, RunEngine } from '@svc/surface'
import type { RunLog } from '@svc/contract'
import type { GatewaySettings, HandshakeCredentials } from './options.ts'
import type { RunKeeper } from './sockets/run-keeper.ts'

/** Who opens a socket, and what callers may do. */
export type GatewayPolicy = Policy<HandshakeCredentials>

/** Shared by all handlers. */
export interface Surface extends AdmittingSurface {
  readonly runs: RunEngine
  readonly exposed: Exposed
  readonly policy: GatewayPolicy
  readonly keeper: RunKeeper
  readonly calls: LiveCalls
  readonly settings: Pick<GatewaySettings, 'limits' | 'onDisconnect' | 'exposeToolArgs'>
  readonly log: RunLog
}
