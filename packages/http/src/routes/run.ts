import { codeOf, RunBodySchema, RUNNABLE_KINDS, RunRecordSchema, RunResultSchema } from '@svc/contract'
import { sendJson, toRunRecord, jsonReply, type Run } from '@svc/surface'
import type { FastifyRequest } from 'fastify'
import { replyRunError } from '../errors/error-handler.ts'
import { describeOperation, errorReplies, RUN_ERRORS, RUN_ID } from '../openapi/describe-operation.ts'
import { readPatience } from '../starting/patience.ts'
import { createStarter, endsWithin, tieToClient } from '../starting/start-run.ts'
import { NameParamsSchema, RunHeadersSchema } from '../schemas/parameters.ts'
import type { HttpScope, Surface } from '../surface.ts'

const headers = {
  'x-run-id': RUN_ID,
  'x-run-joined': '`true` if the message has joined a run under way (`whenBusy: steer`)',
  'idempotency-replayed': '`true` if an earlier request started the run',
  'preference-applied': 'The preferences that the reply follows: `respond-async`, `wait=N`'
}
const location = 'The URL of the run'

/** `POST /agents/:name/run` and the other kinds: starts a run and replies with its result, or earlier with its record. */
export function runRoutes(scope: HttpScope, surface: Surface): void {
  for (const kind of RUNNABLE_KINDS) {
    const config = { access: { action: 'run', kind } } as const
    const schema = {
      ...describeOperation(
        `run-${kind}`,
        `Run ${kind === 'agent' ? 'an' : 'a'} ${kind} and wait for its end`
      ),
      params: NameParamsSchema,
      headers: RunHeadersSchema,
      body: RunBodySchema,
      response: {
        200: jsonReply('The result', RunResultSchema, headers),
        202: jsonReply('The run, with `Prefer: respond-async` or `wait=N`', RunRecordSchema, {
          ...headers,
          location
        }),
        ...errorReplies(...RUN_ERRORS, 499)
      }
    }
    const { preParsing, start } = createStarter(surface, kind)
    scope.post(`/${kind}s/:name/run`, { schema, config, preParsing }, async (request, reply) => {
      const patience = readPatience(request.headers.prefer)
      const run = await start(request, reply, patience && 'continue')
      if (patience === undefined) tieToClient(surface, run, request.body, reply)
      else {
        const inTime = await endsWithin(surface, run, reply, patience.ms)
        patience.apply(reply, inTime)
        if (!inTime) {
          reply.code(202).header('location', urlOf(run, surface, request))
          const record = toRunRecord((await surface.runs.find(run.runId))!)
          return run.joined ? { ...record, joined: true as const } : record
        }
      }
      try {
        return await sendJson(surface.replies, reply, await run.result())
      } catch (err) {
        if (codeOf(err) === 'RUN_ERR_SUSPENDED') reply.header('location', urlOf(run, surface, request))
        replyRunError(err, request, reply)
        return reply
      }
    })
  }
}

function urlOf({ runId }: Run, { baseOf }: Surface, request: FastifyRequest): string {
  return `${baseOf(request)}/runs/${runId}`
}
