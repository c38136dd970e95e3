import { RUNNABLE_KINDS, RunResultSchema } from '@svc/registry'
import { replyRunError } from '../error-handler.ts'
import { describeOperation } from '../openapi/describe-operation.ts'
import { errorReplies, jsonReply, RUN_ERRORS, RUN_ID } from '../openapi/describe-replies.ts'
import { RunHeadersSchema } from '../schemas/headers.ts'
import { NameParamsSchema } from '../schemas/path-params.ts'
import { RunBodySchema } from '../schemas/run-body.ts'
import { startRun } from '../start-run.ts'
import type { Surface } from '../surface.ts'
import type { HttpScope } from '../type-provider.ts'

/** `POST /agents/:name/run` and its like: start, wait for the end, answer with the result. */
export function runRoutes(scope: HttpScope, surface: Surface): void {
  for (const kind of RUNNABLE_KINDS) {
    const schema = {
      ...describeOperation(
        `run-${kind}`,
        `Run ${kind === 'agent' ? 'an' : 'a'} ${kind} and wait for its end`
      ),
      params: NameParamsSchema,
      headers: RunHeadersSchema,
      body: RunBodySchema,
      response: {
        200: jsonReply('The result', RunResultSchema, { 'x-run-id': RUN_ID }),
        ...errorReplies(...RUN_ERRORS, 499)
      }
    }
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
