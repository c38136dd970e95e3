import { DEFAULT_PROVIDER_KEY_HEADERS, isAdmin, ProviderKeys, type RunnableKind } from '@svc/registry'
import type { Connection } from '../sockets/connection.ts'
import {
  GTW_ERR_FORBIDDEN,
  GTW_ERR_FOREIGN_USER,
  GTW_ERR_MISSING_SCOPE,
  GTW_ERR_UNKNOWN_RUNNABLE
} from '../errors.ts'
import type { RunEvent } from '../events/client-events.ts'
import type { Surface } from '../surface.ts'
import type { Handler } from './handler.ts'

/**
 * `agent.run` and its like: starts a run and follows it from its start.
 * @throws GTW_ERR_MISSING_SCOPE, GTW_ERR_FORBIDDEN, GTW_ERR_UNKNOWN_RUNNABLE, GTW_ERR_FOREIGN_USER, GTW_ERR_TOO_MANY_RUNS, and
 * what `RunEngine.start` throws
 */
export function createRunHandler(kind: RunnableKind): Handler<RunEvent> {
  return async (surface, connection, payload) => {
    const { runs, exposed, policy, keeper, settings, log } = surface
    const { principal } = connection
    const { name, input, sessionId, userId, apiKey, onDisconnect = settings.onDisconnect } = payload
    await requireAllowed(surface, connection, kind, name)
    const runnable = exposed.get(kind, name)
    if (runnable === undefined) throw new GTW_ERR_UNKNOWN_RUNNABLE(kind, name)
    const isOwnUser = userId === undefined || userId === principal.sub || isAdmin(principal.scopes)
    if (policy.hasAuthentication && !isOwnUser) throw new GTW_ERR_FOREIGN_USER()

    const keys = new ProviderKeys(connection.headers, apiKey, DEFAULT_PROVIDER_KEY_HEADERS)
    const run = await connection.reserve(() =>
      runs.start(runnable, input, {
        ...exposed.startOptions(runnable),
        sessionId,
        userId,
        principal,
        ...keys.forRun(log)
      })
    )
    if (onDisconnect === 'cancel') keeper.keep(run, principal.sub, connection)
    // It may have gone while the run was started.
    if (connection.closed) keeper.leave(connection)
    const { runId } = run
    return { ack: { runId }, after: () => connection.follow(runId, kind, 0) }
  }
}

async function requireAllowed(
  { policy }: Surface,
  { principal }: Connection,
  kind: RunnableKind,
  name: string
): Promise<void> {
  const decision = await policy.authorize(principal, 'run', { kind, name })
  if (decision.allowed) return
  throw decision.missing === undefined ? new GTW_ERR_FORBIDDEN() : new GTW_ERR_MISSING_SCOPE(decision.missing)
}
