import { RUNNABLE_KINDS, RunRecordSchema, RunResultSchema, toRunRecord } from '@svc/registry'
import { replyRunError } from '../error-handler.ts'
import { NameParamsSchema } from '../schemas/path-params.ts'
import { RunBodySchema } from '../schemas/run-body.ts'
import { prefersAsync } from '../prefers-async.ts'
import { startRun, tieToClient } from '../start-run.ts'
import type { Surface } from '../surface.ts'
import type { HttpScope } from '../type-provider.ts'

/** `POST /agents/:name/run` and its like: start, wait for the end, answer with the result; or at once. */
export function runRoutes(scope: HttpScope, surface: Surface): void {
  const schema = {
    params: NameParamsSchema,
    body: RunBodySchema,
    response: { 200: RunResultSchema, 202: RunRecordSchema }
  }

  for (const kind of RUNNABLE_KINDS) {
    const config = { access: { action: 'run', kind } } as const
    scope.post(`/${kind}s/:name/run`, { schema, config }, async (request, reply) => {
      const run = await startRun(surface, kind, request, reply)
      if (prefersAsync(request.headers)) {
        const { runId } = run
        reply.code(202).header('location', `${scope.prefix}/runs/${runId}`)
        reply.header('preference-applied', 'respond-async')
        return toRunRecord((await surface.runs.get(runId))!)
      }
      tieToClient(surface, run, request.body, reply)
      try {
        return await run.result()
      } catch (err) {
        replyRunError(err, request, reply)
        return reply
      }
    })
  }
}
