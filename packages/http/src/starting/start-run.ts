import {
  isPromise,
  requireExposed,
  toStartOptions,
  type Run,
  type RunBody,
  type RunnableKind
} from '@svc/registry'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Surface } from '../surface.ts'
import { readStartKey } from './start-key.ts'

/** A request for a run, validated. */
export type RunRequest = Pick<
  FastifyRequest,
  'principal' | 'log' | 'headers' | 'routeOptions' | 'uploads'
> & {
  params: { name: string }
  body: RunBody
}

/**
 * Starts the run that a request asks for, named in `x-run-id`. With an `Idempotency-Key` that was used before it is the
 * run of that time, and `idempotency-replayed` says so.
 * @throws HTTP_ERR_UNKNOWN_RUNNABLE, HTTP_ERR_FOREIGN_USER, HTTP_ERR_BAD_IDEMPOTENCY_KEY, and what `RunEngine.start` throws
 */
export async function startRun(
  surface: Surface,
  kind: RunnableKind,
  { params, body, principal, log, headers, routeOptions, uploads }: RunRequest,
  reply: FastifyReply
): Promise<Run> {
  const runnable = requireExposed(surface, kind, params.name)
  const { input, sessionId, userId, apiKey } = body
  const asked = { principal, sessionId, userId, apiKey, headers, log }
  const options = toStartOptions(surface, runnable, asked)
  // Not the URL: the same may be spelled in many ways.
  const route = `${routeOptions.url} ${params.name}`
  const startKey = readStartKey(headers['idempotency-key'], route, body, uploads?.files)
  const run = await surface.runs.start(runnable, input, {
    ...options,
    startKey: isPromise(startKey) ? await startKey : startKey
  })
  // The runnable reads the files as it goes.
  if (uploads !== undefined && uploads.files.length > 0) uploads.keepUntil(run.result())
  reply.header('x-run-id', run.runId)
  if (run.replayed) reply.header('idempotency-replayed', 'true')
  return run
}
