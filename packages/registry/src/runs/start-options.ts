import type { ProviderKey, Redact } from '../contract/provider-key.ts'
import type { Authorize, Principal } from '../contract/principal.ts'
import type { Envelope } from '../contract/run-context.ts'
import type { RunLog } from '../contract/run-log.ts'
import type { StartKey } from '../contract/ports/run-store.ts'

/** What a run is started with. */
export interface StartOptions {
  /** The id of the registry that the run belongs to; default: of the one that has the runnable. */
  registry?: string | undefined
  /** The surface that starts it: when the run goes on after a restart, its policy holds again. */
  surface?: string | undefined
  /** Default: a new one. */
  sessionId?: string | undefined
  /** Separates sessions and memory where there are no credentials. */
  userId?: string | undefined
  /** Who calls; default anonymous. Its `sub` owns the run. */
  principal?: Principal | undefined
  log?: RunLog | undefined
  /** What came around the input. */
  envelope?: Envelope | undefined
  /** Starts the run once: for the same registry, owner and key, the run that was started is given again. */
  startKey?: StartKey | undefined
  /** The caller's own keys for model providers; a string is wrapped. */
  apiKey?: ((provider?: string) => ProviderKey | string | undefined) | undefined
  /** Takes those keys out of what the run tells and stores: its parts, its result, its error, and all that its stores are given. */
  redact?: Redact | undefined
  /** The app's policy, for runnables that reach others. */
  authorize?: Authorize | undefined
  /** Called each time the run begins to wait for an approval; the store may come to know of it a moment later. */
  onApprovalRequest?: (() => void) | undefined
}
