import { RUN_ERR_FENCED, type RunFence, type Stores } from '@svc/contract'
import {
  createInProcessBrowserStateStore,
  createInProcessRemoteSessionStore
} from '../in-process/session-states.ts'

/**
 * Adds stores in process memory for what sessions have beside their messages, where an app brings none: the engine can then remove it
 * with the session.
 */
export function completeStores(stores: Stores): Stores {
  const check = { requireEpoch: (fence: RunFence | undefined) => requireEpoch(stores, fence) }
  const {
    browserStates = createInProcessBrowserStateStore(check),
    remoteSessions = createInProcessRemoteSessionStore(check)
  } = stores
  return { ...stores, browserStates, remoteSessions }
}

async function requireEpoch({ runs }: Stores, fence: RunFence | undefined): Promise<void> {
  if (fence !== undefined && (await runs.find(fence.runId))?.epoch !== fence.epoch)
    throw new RUN_ERR_FENCED(fence.runId)
}
