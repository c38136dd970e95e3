import { RUNNABLE_KINDS, RunResultSchema } from '@svc/registry'
import { replyRunError } from '../error-handler.ts'
import { NameParamsSchema } from '../schemas/path-params.ts'
import { RunBodySchema } from '../schemas/run-body.ts'
import { startRun } from '../start-run.ts'
import type { Surface } from '../surface.ts'
import type { HttpScope } from '../type-provider.ts'

/** `POST /agents/:name/run` and its like: start, wait for the end, answer with the result. */
export function runRoutes(scope: HttpScope, surface: Surface): void {
  const schema = { params: NameParamsSchema, body: RunBodySchema, response: { 200: RunResultSchema } }

  for (const kind of RUNNABLE_KINDS) {
    scope.post(`/${kind}s/:name/run`, { schema }, async (request, reply) => {
      const run = await startRun(surface, kind, request, reply)
      try {
        return await run.result()
      } catch (err) {
        replyRunError(err, request, reply)
        return reply
      }
    })
  }
}
