import type { LeftTurn, SessionKey, StoredRun, Stores } from '@svc/contract'
import { TurnSoFar } from './turn-so-far.ts'

// Per read: many small parts, or one large one.
const PAGE = { entries: 4_096, bytes: 1_048_576 }

/** The run that leaves its turn. */
type Leaving = Pick<StoredRun, 'runId' | 'epoch' | 'registry' | 'kind' | 'name' | 'sessionId'>

/**
 * Leaves in the session of a run what its log has, if it is to be kept. A turn that was saved before stays as it is. Call it before the
 * run ends, and again after a crash: it is saved once.
 */
export async function leaveTurn(stores: Stores, run: Leaving, { owner, keep }: LeftTurn): Promise<void> {
  if (!keep) return
  const { runId, epoch } = run
  const turn = new TurnSoFar()
  for (let seq = 0; ;) {
    const entries = await stores.log.read(runId, seq, PAGE)
    if (entries.length === 0) break
    for (const { part } of entries) turn.add(part)
    seq = entries.at(-1)!.seq
  }
  const key = keyOf(run, owner)
  await stores.sessionIndex?.enter(key, runId)
  const { afterTurn: after } = turn
  const from = after === undefined ? undefined : { runId, after }
  await stores.sessions.append(key, runId, turn.build(), { runId, epoch }, from)
}

/** True if the turn of a run is the last one of its session: it was saved before the run could be canceled. */
export async function isTurnSaved({ sessionIndex }: Stores, run: Leaving, owner: string): Promise<boolean> {
  const page = await sessionIndex?.messages(keyOf(run, owner), { limit: 1 })
  return page?.messages.at(-1)?.turnId === run.runId
}

function keyOf({ registry, kind, name, sessionId }: Leaving, owner: string): SessionKey {
  return { registry, kind, name, sessionId, owner }
}
