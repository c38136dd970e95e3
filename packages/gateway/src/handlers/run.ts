import { hash } from 'node:crypto'
import type { RunnableKind, StartKey } from '@svc/contract'
import { admitRun } from '@svc/surface'
import type { RunEvent } from '../events/client-events.ts'
import type { Handler } from './handler.ts'

/**
 * `agent.run`, `team.run`, `workflow.run`: starts a run and follows it from its start.
 * @throws GTW_ERR_MISSING_SCOPE, GTW_ERR_FORBIDDEN, GTW_ERR_UNKNOWN_RUNNABLE, GTW_ERR_FOREIGN_USER, GTW_ERR_TOO_MANY_RUNS,
 * RUN_ERR_CLIENT_INSTRUCTIONS, RUN_ERR_CLIENT_TOOLS, RUN_ERR_KEY_REUSED, and the errors of `RunEngine.start`
 */
export function createRunHandler(kind: RunnableKind): Handler<RunEvent> {
  return async (surface, connection, payload) => {
    const { runs, keeper, settings, log } = surface
    const { principal, headers } = connection
    const { name, parts = false, partial = false, idempotencyKey, ...body } = payload
    const { input, onDisconnect = settings.onDisconnect } = body
    const asked = { body, onDisconnect, principal, headers, log }
    const { runnable, options } = await admitRun(surface, kind, name, asked)
    const startKey =
      idempotencyKey === undefined ? undefined : toStartKey(`${kind}.run`, idempotencyKey, payload)
    const start = startKey === undefined ? options : { ...options, startKey }
    const run = await connection.reserve(() => runs.start(runnable, input, start))
    const { runId, joined, replayed } = run
    const { sub } = principal
    if (replayed) keeper.join({ runId, owner: sub }, sub, connection)
    else if (onDisconnect === 'cancel' && !joined) keeper.keep(run, sub, connection)
    // The socket may have left while the run started.
    if (connection.closed) keeper.leave(connection)
    const followed = { runId, kind, after: 0, parts, partial }
    const follow = () => {
      if (startKey !== undefined) connection.followKeyed(followed)
      // A socket that follows the run already gets nothing twice.
      else if (!joined || !connection.follows(runId)) connection.follow(followed)
    }
    const ack = { runId, ...(replayed && { replayed }), ...(joined && { joined }) }
    return { ack, after: follow }
  }
}

// As HTTP does for its Idempotency-Key: without the caller's key of a provider, and what is sent of the run.
function toStartKey(
  event: string,
  key: string,
  { apiKey: _, parts: __, partial: ___, idempotencyKey: ____, ...asked }: RunEvent
): StartKey {
  return {
    key: hash('sha256', JSON.stringify([event, asked.name, key]), 'base64url'),
    hash: hash('sha256', JSON.stringify(asked), 'base64url')
  }
}
