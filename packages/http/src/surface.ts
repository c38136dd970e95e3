import type { AdmissionErrors, Exposed, OnDisconnect, RunEngine } from '@svc/registry'
import type { OpenReplies } from '@svc/registry/sse'
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
