import { RunBodySchema, RUNNABLE_KINDS } from '@svc/contract'
import { createSseStream, SSE_HEADERS, wantsPartial } from '@svc/surface'
import {
  describeOperation,
  errorReplies,
  EVENT_STREAM,
  eventStreamReply,
  RUN_ERRORS
} from '../openapi/describe-operation.ts'
import { createStarter, tieToClient } from '../starting/start-run.ts'
import { NameParamsSchema, PartialQuerySchema, RunHeadersSchema } from '../schemas/parameters.ts'
import type { HttpScope, Surface } from '../surface.ts'

/** `POST /agents/:name/stream` and the other kinds: starts a run and streams its parts. */
export function streamRoutes(scope: HttpScope, surface: Surface): void {
  const { runs, heartbeat } = surface

  for (const kind of RUNNABLE_KINDS) {
    const config = { access: { action: 'run', kind } } as const
    const schema = {
      ...describeOperation(
        `stream-${kind}`,
        `Run ${kind === 'agent' ? 'an' : 'a'} ${kind} and follow it`,
        EVENT_STREAM
      ),
      params: NameParamsSchema,
      headers: RunHeadersSchema,
      querystring: PartialQuerySchema,
      body: RunBodySchema,
      response: { 200: eventStreamReply('The parts, live'), ...errorReplies(...RUN_ERRORS) }
    }
    const { preParsing, start } = createStarter(surface, kind)
    scope.post(`/${kind}s/:name/stream`, { schema, config, preParsing }, async (request, reply) => {
      const run = await start(request, reply)
      tieToClient(surface, run, request.body, reply)
      reply.headers(SSE_HEADERS)
      return createSseStream(runs, run.runId, { heartbeat, partial: wantsPartial(request) })
    })
  }
}
