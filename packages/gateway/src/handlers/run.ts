import type { RunnableKind } from '@svc/registry'
import { admitRun } from '@svc/registry/kit'
import type { RunEvent } from '../events/client-events.ts'
import type { Handler } from './handler.ts'

/**
 * `agent.run`, `team.run`, `workflow.run`: starts a run and follows it from its start.
 * @throws GTW_ERR_MISSING_SCOPE, GTW_ERR_FORBIDDEN, GTW_ERR_UNKNOWN_RUNNABLE, GTW_ERR_FOREIGN_USER, GTW_ERR_TOO_MANY_RUNS,
 * RUN_ERR_CLIENT_INSTRUCTIONS, RUN_ERR_CLIENT_TOOLS, and the errors of `RunEngine.start`
 */
export function createRunHandler(kind: RunnableKind): Handler<RunEvent> {
  return async (surface, connection, payload) => {
    const { runs, keeper, settings, log } = surface
    const { principal, headers } = connection
    const { name, parts = false, ...body } = payload
    const { input, onDisconnect = settings.onDisconnect } = body
    const asked = { body, onDisconnect, principal, headers, log }
    const { runnable, options } = await admitRun(surface, kind, name, asked)
    const run = await connection.reserve(() => runs.start(runnable, input, options))
    const { runId, joined } = run
    if (onDisconnect === 'cancel' && !joined) keeper.keep(run, principal.sub, connection)
    // The socket may have left while the run started.
    if (connection.closed) keeper.leave(connection)
    // A socket that follows the run already gets nothing twice.
    const follow = () =>
      joined && connection.follows(runId) ? undefined : connection.follow({ runId, kind, after: 0, parts })
    return { ack: joined ? { runId, joined } : { runId }, after: follow }
  }
}
