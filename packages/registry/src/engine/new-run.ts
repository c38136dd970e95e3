import type { Exposures } from '../access/exposures.ts'
import { ANONYMOUS, newRunId, randomId, type PartOf, type Runnable, type StoredRun } from '@svc/contract'
import type { StartOptions } from './start-options.ts'

/** Creates the record of a new run. */
export function newRun(
  runnable: Runnable,
  { registry, principal = ANONYMOUS, userId, sessionId = randomId(), startKey, metadata }: StartOptions,
  exposures: Pick<Exposures, 'registryOf'>
): StoredRun {
  const { kind, name } = runnable
  const now = Date.now()
  return {
    runId: newRunId(now),
    registry: registry ?? exposures.registryOf(runnable),
    kind,
    name,
    sessionId,
    owner: principal.sub,
    ...(userId !== undefined && principal.sub === ANONYMOUS.sub && { userId }),
    startKey: startKey ?? null,
    metadata: metadata ?? null,
    createdAt: now,
    queuedAt: null,
    updatedAt: now,
    status: 'submitted',
    epoch: 1,
    result: null,
    error: null,
    cancelRequested: false,
    leftTurn: null,
    inputs: []
  }
}

/** The first part of a run. */
export function toStartPart(
  { runId, sessionId, kind, name, metadata }: StoredRun,
  { afterTurn }: StartOptions,
  isQueued = false
): PartOf<'start'> {
  return {
    ...{ type: 'start', runId, sessionId, kind, name },
    ...(metadata !== null && { metadata }),
    ...(afterTurn !== undefined && { afterTurn }),
    ...(isQueued && { queued: true })
  }
}
