import { isTerminalStatus, type Principal, type SessionSettings, type StoredSession } from '@svc/contract'
import { findActiveRun, findSession, partsOf, type Admit, type SessionTurn } from '@svc/surface'
import type { Surface } from '../../surface.ts'
import { TurnProjection, type TurnContext } from '../projection/turn-projection.ts'
import type { AgentSession } from '../wire/agent-schemas.ts'
import { SETTINGS, toAgentSession, type AgentSettings } from '../wire/agent-objects.ts'

/** What the projection of a session's turns depends on. @param kept the settings of all wires */
export function toContext(
  { toolCalls }: Pick<Surface, 'toolCalls'>,
  session: StoredSession,
  kept: SessionSettings | undefined
): TurnContext {
  return { session, settings: (kept?.[SETTINGS] as AgentSettings | undefined) ?? {}, toolCalls }
}

/** The same, with the settings read. @throws RUN_ERR_STORE */
export async function contextOf(
  surface: Pick<Surface, 'runs' | 'toolCalls'>,
  session: StoredSession
): Promise<TurnContext> {
  return toContext(surface, session, await surface.runs.sessions.settings(session))
}

/** A session of the caller, by its id. @throws RUN_ERR_SESSION_NOT_FOUND, RUN_ERR_SESSION_AMBIGUOUS, RUN_ERR_STORE */
export async function requireContext(
  surface: Surface,
  sessionId: string,
  caller: Principal
): Promise<TurnContext> {
  return contextOf(surface, await findSession(surface, sessionId, caller))
}

/** Reads a turn so far, once its log is admitted. @throws RUN_ERR_STORE, and the errors of `admit` */
export async function readTurn(
  surface: Pick<Surface, 'runs'>,
  context: TurnContext,
  { runId, run: summary }: Pick<SessionTurn, 'runId' | 'run'>,
  admit?: Admit
): Promise<TurnProjection> {
  await admit?.(summary?.bytes ?? 0)
  const turn = new TurnProjection(runId, context)
  for await (const part of partsOf(surface, context.session, runId)) turn.add(part)
  const run = turn.run.end === undefined ? await surface.runs.find(runId) : undefined
  if (turn.run.end === undefined && (run === undefined || isTerminalStatus(run.status))) turn.close()
  return turn
}

/** The present state of a session. @throws RUN_ERR_STORE */
export async function readSession(
  surface: Surface,
  context: TurnContext,
  caller: Principal
): Promise<AgentSession> {
  const { session, settings } = context
  const active = await findActiveRun(surface, session, caller)
  if (active === undefined)
    return toAgentSession(session, settings, { status: 'idle', required: [], at: session.updatedAt })
  const turn = active.status === 'input-required' ? await readTurn(surface, context, active) : undefined
  const required = [...(turn?.required.values() ?? [])]
  const status = required.length > 0 ? 'requires_action' : 'in_progress'
  return toAgentSession(session, settings, { status, required, at: active.updatedAt })
}
