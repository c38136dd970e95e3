import {
  isTerminalStatus,
  type Principal,
  type RunSummary,
  type SessionSettings,
  type StoredSession,
  type Usage
} from '@svc/contract'
import {
  findActiveRun,
  findSession,
  partsOf,
  readConversation,
  type Admit,
  type SessionTurn
} from '@svc/surface'
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

/** The present state of a session, with the tokens of its turns. @throws RUN_ERR_STORE */
export async function readSession(
  surface: Surface,
  context: TurnContext,
  caller: Principal
): Promise<AgentSession> {
  const { active, usage } = await readConversation(surface, context.session, caller)
  return toPresent(surface, context, active, usage)
}

/** A session of a list: its tokens are not counted. @throws RUN_ERR_STORE */
export async function readListed(
  surface: Surface,
  context: TurnContext,
  caller: Principal
): Promise<AgentSession> {
  return toPresent(surface, context, await findActiveRun(surface, context.session, caller))
}

async function toPresent(
  surface: Surface,
  context: TurnContext,
  active: RunSummary | undefined,
  usage?: Usage
): Promise<AgentSession> {
  const { session, settings } = context
  if (active === undefined) {
    const state = { status: 'idle', required: [], at: session.updatedAt, usage } as const
    return toAgentSession(session, settings, state)
  }
  const turn = active.status === 'input-required' ? await readTurn(surface, context, active) : undefined
  const required = [...(turn?.required.values() ?? [])]
  const status = required.length > 0 ? 'requires_action' : 'in_progress'
  return toAgentSession(session, settings, { status, required, at: active.updatedAt, usage })
}
