import { type Principal, type StoredSession, type Usage } from '@svc/contract'
import { readConversation, scheduleOfSession, toRunnableId, type WireSurface } from '@svc/surface'
import { toSessionAgent, toThreadAgent } from '../agents/agent-object.ts'
import { isOfDeployment } from '../deployments/deployment-object.ts'
import { ENVIRONMENT } from '../environments/environment-routes.ts'
import { toModelUsage } from '../projection/outcomes.ts'
import { readSettings, type ManagedSettings } from './session-settings.ts'
import type { SessionObject } from './session-schemas.ts'

/** A session as the protocol has it, without its tokens. */
export async function toSessionObject(
  surface: WireSurface,
  stored: StoredSession,
  settings?: ManagedSettings
): Promise<SessionObject> {
  const { kind, name, sessionId, title, metadata, createdAt, updatedAt } = stored
  const { runs, exposed } = surface
  const { tools, archivedAt = null } = settings ?? readSettings(await runs.sessions.settings(stored))
  const runnable = await exposed.find(kind, name)
  const agent =
    runnable === undefined
      ? { ...toThreadAgent(toRunnableId(kind, name), name), multiagent: null }
      : toSessionAgent(runnable, tools)
  return {
    id: sessionId,
    type: 'session',
    agent,
    environment_id: ENVIRONMENT,
    status: await statusOf(surface, stored),
    title,
    metadata: { ...metadata },
    created_at: new Date(createdAt).toISOString(),
    updated_at: new Date(updatedAt).toISOString(),
    archived_at: archivedAt,
    budget: null,
    deployment_id: await deploymentOf(surface, stored),
    outcome_evaluations: [],
    resources: [],
    vault_ids: [],
    stats: {},
    usage: {}
  }
}

// A schedule of another wire may have a session for all its runs.
async function deploymentOf(surface: WireSurface, stored: StoredSession): Promise<string | null> {
  const scheduleId = await scheduleOfSession(surface, stored)
  return scheduleId !== undefined && (await isOfDeployment(surface, scheduleId)) ? scheduleId : null
}

/** Whether a session runs, or waits for its user. */
export async function statusOf(
  { runs }: Pick<WireSurface, 'runs'>,
  { activeRun }: StoredSession
): Promise<'running' | 'idle'> {
  const run = activeRun === null ? undefined : await runs.find(activeRun)
  return run?.status === 'working' || run?.status === 'submitted' ? 'running' : 'idle'
}

/** The same, with the tokens of its runs that have ended. */
export async function toWholeSession(
  surface: WireSurface,
  stored: StoredSession,
  caller: Principal
): Promise<SessionObject> {
  const object = await toSessionObject(surface, stored)
  const { usage } = await readConversation(surface, stored, caller)
  return { ...object, usage: toUsage(usage) }
}

/** Tokens as sessions and threads have them. */
export function toUsage(usage: Usage): SessionObject['usage'] {
  const { cache_creation_input_tokens: written, ...counts } = toModelUsage(usage)
  return { ...counts, cache_creation: { ephemeral_5m_input_tokens: written } }
}
