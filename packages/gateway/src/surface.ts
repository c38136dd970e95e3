import type { Authorize, Exposed, RunEngine, RunLog } from '@svc/registry'
import type { GatewaySettings } from './options.ts'
import type { RunKeeper } from './sockets/run-keeper.ts'

/** What the handlers share. */
export interface Surface {
  readonly runs: RunEngine
  readonly exposed: Exposed
  readonly policy: { readonly authorize: Authorize; readonly hasAuthentication: boolean }
  readonly keeper: RunKeeper
  readonly settings: Pick<GatewaySettings, 'limits' | 'onDisconnect' | 'exposeToolArgs'>
  readonly log: RunLog
}
