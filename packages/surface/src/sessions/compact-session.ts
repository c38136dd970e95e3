import { Type } from '@sinclair/typebox'
import { defined, RunRecordSchema } from '@svc/contract'
import type { Run, RunEngine } from '@svc/registry'
import {
  ProviderKeys,
  requireAllowed,
  requireExposed,
  type AdmittingSurface,
  type AskedRun
} from '../access/admit-run.ts'
import { requireSession, type SessionAccess, type SessionReference } from '../access/require-owned.ts'

/** The run that has compacted a session, and what it has left out. */
export const CompactedSessionSchema = Type.Object(
  {
    ...RunRecordSchema.properties,
    messages: Type.Integer({
      description: 'How many messages later prompts leave out; 0 if there was nothing to leave out'
    })
  },
  { title: 'CompactedSession' }
)

/** How a caller has a session compacted. */
interface AskedCompaction extends Pick<AskedRun, 'principal' | 'headers' | 'log'> {
  readonly whenBusy?: 'queue' | 'reject' | undefined
}

type CompactingSurface = AdmittingSurface & SessionAccess & { readonly runs: Pick<RunEngine, 'start'> }

/**
 * Starts the run that compacts a session of the caller, who may run its runnable.
 * @throws Forbidden, MissingScope, UnknownRunnable and ForeignUser of the surface, RUN_ERR_SESSION_NOT_FOUND, RUN_ERR_SESSIONS_NOT_KEPT,
 * RUN_ERR_NO_COMPACTION, and the errors of `RunEngine.start`
 */
export async function startCompaction(
  surface: CompactingSurface,
  reference: SessionReference,
  { principal, headers, log, whenBusy }: AskedCompaction
): Promise<Run> {
  const { kind, name, sessionId } = await requireSession(surface, reference, principal)
  await requireAllowed(surface, principal, 'run', { kind, name })
  const runnable = await requireExposed(surface, kind, name)
  const keys = new ProviderKeys(headers, undefined, surface.providerKeyHeaders)
  return surface.runs.start(runnable, undefined, {
    ...surface.exposed.startOptions(runnable),
    ...keys.forRun(log),
    ...defined({ userId: reference.userId, whenBusy }),
    principal,
    sessionId,
    compact: true
  })
}

/** How many messages the run that compacts a session leaves out, once it has ended. @throws its error */
export async function messagesLeftOut(run: Pick<Run, 'parts' | 'result'>): Promise<number> {
  let messages = 0
  for await (const part of run.parts()) if (part.type === 'compaction') messages += part.messages
  await run.result()
  return messages
}
