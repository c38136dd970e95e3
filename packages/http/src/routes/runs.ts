import { Type } from '@sinclair/typebox'
import { RunRecordSchema, type RunQuery } from '@svc/contract'
import {
  createSseStream,
  isEnd,
  jsonReply,
  partialQuery,
  requireRun,
  SSE_HEADERS,
  wantsPartial
} from '@svc/surface'
import { HTTP_ERR_BAD_LAST_EVENT_ID } from '../errors.ts'
import {
  describeOperation,
  emptyReply,
  errorReplies,
  EVENT_STREAM,
  eventStreamReply
} from '../openapi/describe-operation.ts'
import { sendPage } from '../replies/collect-page.ts'
import { listRuns, sendRecord, toRunItem } from '../replies/run-records.ts'
import { watchClient } from '../starting/start-run.ts'
import type { FastifyRequest, preValidationHookHandler } from 'fastify'
import { RunParamsSchema, StreamHeadersSchema } from '../schemas/parameters.ts'
import { RunListSchema, RunQuerySchema } from '../schemas/run-list.ts'
import type { HttpScope, Surface } from '../surface.ts'

const config = { access: 'authenticated' } as const
const found = jsonReply('The run', RunRecordSchema)
const list = {
  ...describeOperation('list-runs', 'Your own runs, newest first'),
  querystring: RunQuerySchema,
  response: { 200: jsonReply('One page of runs', RunListSchema), ...errorReplies(400, 500, 503) }
}
const get = {
  ...describeOperation('get-run', 'One run'),
  params: RunParamsSchema,
  response: { 200: found, ...errorReplies(400, 404, 414, 500, 503) }
}
const cancel = {
  ...describeOperation('cancel-run', 'Cancel a run'),
  params: RunParamsSchema,
  response: { 200: found, ...errorReplies(400, 404, 409, 413, 414, 415, 500, 503) }
}
const watch = {
  ...describeOperation('stream-run', 'Follow a run from its start or after a given part', EVENT_STREAM),
  params: RunParamsSchema,
  headers: StreamHeadersSchema,
  querystring: Type.Object(
    {
      after: Type.Optional(Type.String({ description: 'Like `Last-Event-ID`, which takes precedence' })),
      ...partialQuery
    },
    { additionalProperties: false }
  ),
  response: {
    200: eventStreamReply('The parts from there'),
    204: emptyReply('Nothing left to send: an EventSource stops reconnecting'),
    ...errorReplies(400, 404, 410, 414, 500, 503)
  }
}

/** `/runs`: list your own, read one, follow it, cancel it. */
export function runsRoutes(scope: HttpScope, surface: Surface): void {
  const { runs, exposed, replies, heartbeat } = surface

  const preValidation = foldQuery('metadata')
  scope.get('/runs', { schema: list, config, preValidation }, async ({ principal, query }, reply) => {
    const { metadata, since, ...filter } = query
    const own = {
      ...filter,
      ...toMetadataFilter(metadata),
      ...(since !== undefined && { since: Date.parse(since) }),
      scope: exposed.scope(),
      owner: principal.sub
    }
    const base = surface.baseOf(reply.request)
    const page = await listRuns(runs, own, (run) => toRunItem(run, base))
    return sendPage(reply, 'runs', page)
  })

  scope.get('/runs/:runId', { schema: get, config }, async ({ params, principal }, reply) =>
    sendRecord(surface, reply, await requireRun(surface, params.runId, principal))
  )

  scope.post('/runs/:runId/cancel', { schema: cancel, config }, async ({ params, principal }, reply) => {
    const { runId } = await requireRun(surface, params.runId, principal)
    return sendRecord(surface, reply, await runs.cancel(runId))
  })

  scope.get('/runs/:runId/stream', { schema: watch, config }, async (request, reply) => {
    const { runId } = await requireRun(surface, request.params.runId, request.principal)
    const after = requireSeq(request.headers['last-event-id'] ?? request.query.after ?? '0')
    const isOver = await isEnd(runs.stores, runId, after)
    // 204 makes an EventSource stop reconnecting.
    if (isOver) return reply.code(204).send()
    reply.headers(SSE_HEADERS).header('x-run-id', runId)
    if (request.method === 'HEAD') return reply.send()
    watchClient(replies, reply)
    return createSseStream(runs, runId, { after, heartbeat, partial: wantsPartial(request) })
  })
}

function toMetadataFilter(metadata: Record<string, string> = {}): Pick<RunQuery, 'metadata'> {
  const [entry] = Object.entries(metadata)
  return entry === undefined ? {} : { metadata: { key: entry[0], value: entry[1] } }
}

function requireSeq(id: string | string[]): number {
  if (typeof id !== 'string' || !/^\d{1,15}$/.test(id)) throw new HTTP_ERR_BAD_LAST_EVENT_ID()
  return Number(id)
}

/**
 * Creates a hook that folds `name[key]=value` of a query into an object under `name`, as some query parsers of apps do
 * themselves.
 */
function foldQuery(name: string): preValidationHookHandler {
  const start = `${name}[`
  const isFolded = ([key]: [string, unknown]) => key.startsWith(start) && key.endsWith(']')
  return (request, _reply, done) => {
    request.query = fold(request.query as Record<string, unknown>)
    done()
  }

  function fold(query: Record<string, unknown>): FastifyRequest['query'] {
    const entries = Object.entries(query)
    const folded = entries.filter(isFolded).map(([key, value]) => [key.slice(start.length, -1), value])
    if (folded.length === 0 || name in query) return query
    const rest = entries.filter((entry) => !isFolded(entry))
    return { ...Object.fromEntries(rest), [name]: Object.fromEntries(folded) as unknown }
  }
}
