import { Type } from '@sinclair/typebox'
import { RUNNABLE_KINDS, RunnableMetadataSchema } from '@svc/registry'
import { HTTP_ERR_UNKNOWN_RUNNABLE } from '../errors.ts'
import { NameParamsSchema } from '../schemas/path-params.ts'
import { RegistrySchema } from '../schemas/registry.ts'
import type { Surface } from '../surface.ts'
import { toMetadata } from '../to-metadata.ts'
import type { HttpScope } from '../type-provider.ts'

/** `GET /agents`, `GET /agents/:name` and their like, and `GET /registry`: what there is to run. */
export function listRoutes(scope: HttpScope, { exposed }: Surface): void {
  const all = { response: { 200: Type.Array(RunnableMetadataSchema) } }
  const one = { params: NameParamsSchema, response: { 200: RunnableMetadataSchema } }

  for (const kind of RUNNABLE_KINDS) {
    scope.get(`/${kind}s`, { schema: all }, async () => exposed.list(kind).map(toMetadata))

    scope.get(`/${kind}s/:name`, { schema: one }, async ({ params }) => {
      const runnable = exposed.get(kind, params.name)
      if (runnable === undefined) throw new HTTP_ERR_UNKNOWN_RUNNABLE(kind, params.name)
      return toMetadata(runnable)
    })
  }

  scope.get('/registry', { schema: { response: { 200: RegistrySchema } } }, async () => ({
    agents: namesOf('agent'),
    teams: namesOf('team'),
    workflows: namesOf('workflow')
  }))

  function namesOf(kind: (typeof RUNNABLE_KINDS)[number]): string[] {
    return exposed.list(kind).map(({ name }) => name)
  }
}
