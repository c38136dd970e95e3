import { Type } from '@sinclair/typebox'
import { RUNNABLE_KINDS, RunnableMetadataSchema } from '@svc/registry'
import { HTTP_ERR_UNKNOWN_RUNNABLE } from '../errors.ts'
import { describeOperation } from '../openapi/describe-operation.ts'
import { errorReplies, jsonReply } from '../openapi/describe-replies.ts'
import { NameParamsSchema } from '../schemas/path-params.ts'
import { RegistrySchema } from '../schemas/registry.ts'
import type { Surface } from '../surface.ts'
import { toMetadata } from '../to-metadata.ts'
import type { HttpScope } from '../type-provider.ts'

/** `GET /agents`, `GET /agents/:name` and their like, and `GET /registry`: what there is to run. */
export function listRoutes(scope: HttpScope, { exposed }: Surface): void {
  for (const kind of RUNNABLE_KINDS) {
    const all = {
      ...describeOperation(`list-${kind}s`, `The ${kind}s that one may see`),
      response: {
        200: jsonReply('What each tells of itself', Type.Array(RunnableMetadataSchema)),
        ...errorReplies(500)
      }
    }
    const one = {
      ...describeOperation(`get-${kind}`, `One ${kind}`),
      params: NameParamsSchema,
      response: {
        200: jsonReply('What it tells of itself', RunnableMetadataSchema),
        ...errorReplies(404, 414, 500)
      }
    }

    scope.get(`/${kind}s`, { schema: all }, async () => exposed.list(kind).map(toMetadata))

    scope.get(`/${kind}s/:name`, { schema: one }, async ({ params }) => {
      const runnable = exposed.get(kind, params.name)
      if (runnable === undefined) throw new HTTP_ERR_UNKNOWN_RUNNABLE(kind, params.name)
      return toMetadata(runnable)
    })
  }

  const names = {
    ...describeOperation('get-registry', 'The names of everything that one may see'),
    response: { 200: jsonReply('The names by kind', RegistrySchema), ...errorReplies(500) }
  }
  scope.get('/registry', { schema: names }, async () => ({
    agents: namesOf('agent'),
    teams: namesOf('team'),
    workflows: namesOf('workflow')
  }))

  function namesOf(kind: (typeof RUNNABLE_KINDS)[number]): string[] {
    return exposed.list(kind).map(({ name }) => name)
  }
}
