import { readPresent, type WireSurface } from '@svc/surface'
import type { RunEvents } from '../projection/run-events.ts'

/** A place where a run began to wait, and for what. */
export interface Wait {
  readonly seq: number
  readonly inputIds: ReadonlySet<string>
}

/** Reads the log of a run up to a part, default all that it has now; returns where the run began to wait. @throws RUN_ERR_STORE */
export async function readSoFar(
  { runs }: WireSurface,
  runId: string,
  events: RunEvents,
  until = Infinity
): Promise<{ events: RunEvents; waits: Wait[] }> {
  const waits: Wait[] = []
  let wasWaiting = false
  for await (const { seq, part } of readPresent(runs.stores, runId)) {
    if (seq > until) break
    events.add(part)
    const { isWaiting } = events
    if (isWaiting && !wasWaiting) waits.push({ seq, inputIds: new Set(events.pendingIds) })
    wasWaiting = isWaiting
  }
  return { events, waits }
}
