import { RUNNABLE_KINDS } from '@svc/registry'
import { createSseStream, SSE_HEADERS } from '@svc/registry/sse'
import { NameParamsSchema } from '../schemas/path-params.ts'
import { RunBodySchema } from '../schemas/run-body.ts'
import { startRun, tieToClient } from '../start-run.ts'
import type { Surface } from '../surface.ts'
import type { HttpScope } from '../type-provider.ts'

/** `POST /agents/:name/stream` and its like: start, and answer with the parts as they come. */
export function streamRoutes(scope: HttpScope, surface: Surface): void {
  const schema = { params: NameParamsSchema, body: RunBodySchema }
  const { runs, heartbeat } = surface

  for (const kind of RUNNABLE_KINDS) {
    const config = { access: { action: 'run', kind } } as const
    scope.post(`/${kind}s/:name/stream`, { schema, config }, async (request, reply) => {
      const run = await startRun(surface, kind, request, reply)
      tieToClient(surface, run, request.body, reply)
      return reply.headers(SSE_HEADERS).send(createSseStream(runs, run.runId, { heartbeat }))
    })
  }
}
