import type { ProviderKey, Redact } from '../contract/provider-key.ts'
import type { Authorize, Principal } from '../contract/principal.ts'
import type { Envelope } from '../contract/run-context.ts'
import type { RunLog } from '../contract/run-log.ts'
import type { StartKey } from '../contract/ports/run-store.ts'

/** Options of the start of a run. */
export interface StartOptions {
  /** The id of the run's registry; default: that of the registry which has the runnable. */
  registry?: string | undefined
  /** The surface that starts the run; its policy applies again when the run is resumed after a restart. */
  surface?: string | undefined
  /** Default: a new one. */
  sessionId?: string | undefined
  /** Separates the sessions and memories of callers without credentials. */
  userId?: string | undefined
  /** The caller; default anonymous. Its `sub` owns the run. */
  principal?: Principal | undefined
  log?: RunLog | undefined
  /** Data that accompanied the input. */
  envelope?: Envelope | undefined
  /** Makes the start idempotent: the same registry, owner and key return the run that was started first. */
  startKey?: StartKey | undefined
  /** The caller's own keys for model providers; a string is wrapped. */
  apiKey?: ((provider?: string) => ProviderKey | string | undefined) | undefined
  /** Removes those keys from the run's parts, result and error, and from everything it stores. */
  redact?: Redact | undefined
  /** The app's policy, for runnables that call other runnables. */
  authorize?: Authorize | undefined
  /** Called each time the run requests an approval; the store may record it a moment later. */
  onApprovalRequest?: (() => void) | undefined
}
