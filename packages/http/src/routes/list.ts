import { Type } from '@sinclair/typebox'
import { RUNNABLE_KINDS, RunnableMetadataSchema, type Principal, type RunnableKind } from '@svc/registry'
import { describeOperation } from '../openapi/describe-operation.ts'
import { errorReplies, jsonReply } from '../openapi/describe-replies.ts'
import { requireRunnable } from '../require-runnable.ts'
import { NameParamsSchema } from '../schemas/path-params.ts'
import { RegistrySchema } from '../schemas/registry.ts'
import type { Surface } from '../surface.ts'
import { toMetadata } from '../to-metadata.ts'
import type { HttpScope } from '../type-provider.ts'

/** `GET /agents`, `GET /agents/:name` and their like, and `GET /registry`: what there is that the caller may read. */
export function listRoutes(scope: HttpScope, { exposed, policy }: Surface): void {
  for (const kind of RUNNABLE_KINDS) {
    const config = { access: { action: 'read', kind } } as const
    const all = {
      ...describeOperation(`list-${kind}s`, `The ${kind}s that one may see`),
      response: {
        200: jsonReply('What each tells of itself', Type.Array(RunnableMetadataSchema)),
        ...errorReplies(400, 500)
      }
    }
    const one = {
      ...describeOperation(`get-${kind}`, `One ${kind}`),
      params: NameParamsSchema,
      response: {
        200: jsonReply('What it tells of itself', RunnableMetadataSchema),
        ...errorReplies(400, 404, 414, 500)
      }
    }

    scope.get(`/${kind}s`, { schema: all, config }, async ({ principal }) =>
      (await readable(kind, principal)).map(toMetadata)
    )

    scope.get(`/${kind}s/:name`, { schema: one, config }, async ({ params }) =>
      toMetadata(requireRunnable(exposed, kind, params.name))
    )
  }

  const config = { access: 'authenticated' } as const
  const names = {
    ...describeOperation('get-registry', 'The names of everything that one may see'),
    response: { 200: jsonReply('The names by kind', RegistrySchema), ...errorReplies(400, 500) }
  }
  scope.get('/registry', { schema: names, config }, async ({ principal }) => ({
    agents: await namesOf('agent', principal),
    teams: await namesOf('team', principal),
    workflows: await namesOf('workflow', principal)
  }))

  async function readable(kind: RunnableKind, principal: Principal) {
    const found = exposed.list(kind)
    const decisions = await Promise.all(
      found.map(async ({ name }) => policy.authorize(principal, 'read', { kind, name }))
    )
    return found.filter((_, index) => decisions[index]!.allowed)
  }

  async function namesOf(kind: RunnableKind, principal: Principal): Promise<string[]> {
    return (await readable(kind, principal)).map(({ name }) => name)
  }
}
