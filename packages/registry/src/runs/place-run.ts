import { ANONYMOUS } from '../contract/principal.ts'
import { isPromise, type Awaitable } from '../contract/ports/awaitable.ts'
import type { SessionKey } from '../contract/ports/session-store.ts'
import type { StoredRun } from '../contract/ports/run-store.ts'
import type { Stores } from '../contract/ports/stores.ts'
import type { Runnable } from '../contract/runnable.ts'
import type { StartOptions } from './start-options.ts'

/** The parts of a run that its place depends on. */
export interface PlacedRun {
  readonly runnable: Runnable
  readonly options: StartOptions
  readonly record: StoredRun
  readonly ended: boolean
  readonly suspended: boolean
  /** As `SessionStore.place` returns it. */
  leavePlace: (() => void) | undefined
}

/** Whose sessions a caller uses: without credentials, those of its `userId`. */
export function sessionOwnerOf({
  principal = ANONYMOUS,
  userId
}: Pick<StartOptions, 'principal' | 'userId'>): string {
  const { sub } = principal
  return sub === ANONYMOUS.sub ? (userId ?? sub) : sub
}

/**
 * Gives a run its place among the turns of its session, in stores that several processes share: elsewhere the order in which runs begin
 * is that in which they are accepted. A new session has no other turns.
 */
export function placeRun({ sessions }: Stores, run: PlacedRun): Awaitable<void> {
  const { runnable, options, record } = run
  if (options.sessionId === undefined || runnable.takesTurns !== true) return
  const { registry, kind, name, sessionId, runId } = record
  const key: SessionKey = { registry, kind, name, sessionId, owner: sessionOwnerOf(options) }
  const placed = sessions.place?.(key, runId)
  const keep = (leave: (() => void) | undefined) => {
    if (run.ended && !run.suspended) leave?.()
    else run.leavePlace = leave
  }
  return isPromise(placed) ? placed.then(keep) : keep(placed)
}
