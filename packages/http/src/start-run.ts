import type { Run, RunnableKind } from '@svc/registry'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { HTTP_ERR_UNKNOWN_RUNNABLE } from './errors.ts'
import type { RunBody } from './schemas/run-body.ts'
import type { Surface } from './surface.ts'

/** A request for a run, validated. */
export type RunRequest = Pick<FastifyRequest, 'principal' | 'log' | 'uploads'> & {
  params: { name: string }
  body: RunBody
}

/**
 * Starts the run that a request asks for, named in `x-run-id`, and ends it when the client goes away, unless it is to go on.
 * @throws HTTP_ERR_UNKNOWN_RUNNABLE, and what `RunEngine.start` throws
 */
export async function startRun(
  { runs, exposed, replies, onDisconnect }: Surface,
  kind: RunnableKind,
  { params, body, principal, log, uploads }: RunRequest,
  reply: FastifyReply
): Promise<Run> {
  const runnable = exposed.get(kind, params.name)
  if (runnable === undefined) throw new HTTP_ERR_UNKNOWN_RUNNABLE(kind, params.name)
  const { input, sessionId, userId, apiKey } = body
  const run = await runs.start(runnable, input, {
    sessionId,
    userId,
    principal,
    log,
    apiKey: apiKey === undefined ? undefined : () => apiKey
  })
  // The runnable reads the files as it goes.
  if (uploads !== undefined && uploads.files.length > 0) uploads.keepUntil(run.result())
  reply.header('x-run-id', run.runId)
  replies.add(reply, (body.onDisconnect ?? onDisconnect) === 'cancel' ? run : undefined)
  return run
}
