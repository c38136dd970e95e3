import { codeOf, RUN_ERR_NOT_FOUND, type Principal, type RunSummary } from '@svc/contract'
import type { RunEngine } from '@svc/registry'
import { findActiveRun, type ConversationAccess } from './find-active-run.ts'
import { requireRun, type RunAccess } from './require-run.ts'
import type { SessionReference } from './require-session.ts'

/** A run of a conversation that the caller reaches; any other run counts as missing. @throws RUN_ERR_NOT_FOUND */
export async function requireRunOf(
  access: RunAccess,
  { kind, name, sessionId }: SessionReference,
  runId: string,
  principal: Principal
): Promise<RunSummary> {
  const run = await requireRun(access, runId, principal)
  if (run.kind !== kind || run.name !== name || run.sessionId !== sessionId)
    throw new RUN_ERR_NOT_FOUND(runId)
  return run
}

/**
 * Cancels the run under way in a conversation of the caller, if there is one.
 * @throws ForeignUser of the surface, RUN_ERR_STORE
 */
export async function cancelActiveRun(
  access: ConversationAccess & { readonly runs: Pick<RunEngine, 'cancel'> },
  reference: SessionReference,
  principal: Principal
): Promise<void> {
  const run = await findActiveRun(access, reference, principal)
  if (run === undefined) return
  await access.runs.cancel(run.runId).catch((err: unknown) => {
    if (codeOf(err) !== 'RUN_ERR_TERMINAL') throw err
  })
}
