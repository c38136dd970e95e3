import { Type } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import {
  MAX_NAME_LENGTH,
  RUNNABLE_KINDS,
  RunnableMetadataSchema,
  type Principal,
  type Runnable,
  type RunnableKind,
  type RunnableMetadata
} from '@svc/contract'
import { requireExposed, sendJson, sendWhole, WireSchema, jsonReply } from '@svc/surface'
import { describeOperation, errorReplies } from '../openapi/describe-operation.ts'
import { collectPage } from '../replies/collect-page.ts'
import { NameParamsSchema } from '../schemas/parameters.ts'
import type { HttpScope, Surface } from '../surface.ts'

/** Selects one page of runnables. */
const RunnableQuerySchema = Type.Object(
  {
    limit: Type.Integer({ minimum: 1, maximum: 1_000, default: 1_000 }),
    cursor: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: MAX_NAME_LENGTH,
        description: 'The last name of the previous page; see the header `Link`'
      })
    )
  },
  { title: 'RunnableQuery', additionalProperties: false }
)

/** The names of all runnables, by kind, and the wires that serve them. */
const RegistrySchema = Type.Object(
  {
    agents: Type.Array(Type.String()),
    teams: Type.Array(Type.String()),
    workflows: Type.Array(Type.String()),
    wires: Type.Array(WireSchema)
  },
  { title: 'Registry' }
)

const LINK = 'The URL of the next page as `rel="next"`, unless this is the last'

/** `GET /agents`, `GET /agents/:name`, the same for teams and workflows, `GET /registry`: what the caller may read. */
export function listRoutes(scope: HttpScope, surface: Surface): void {
  const { exposed, policy, replies, runs } = surface
  for (const kind of RUNNABLE_KINDS) {
    const config = { access: { action: 'read', kind } } as const
    const all = {
      ...describeOperation(`list-${kind}s`, `The ${kind}s that the caller may read, by name`),
      querystring: RunnableQuerySchema,
      response: {
        200: jsonReply('Their metadata', Type.Array(RunnableMetadataSchema), { link: LINK }),
        ...errorReplies(400, 500)
      }
    }
    const one = {
      ...describeOperation(`get-${kind}`, `One ${kind}`),
      params: NameParamsSchema,
      response: {
        200: jsonReply('Its metadata', RunnableMetadataSchema),
        ...errorReplies(400, 404, 414, 500)
      }
    }

    scope.get(`/${kind}s`, { schema: all, config }, async ({ principal, query }, reply) => {
      const { limit } = query
      const { items, nextCursor } = await collectPage<Runnable>(
        {
          read: (some, after) => pageOf(kind, some, after),
          async encode(runnable) {
            const isReadable = await mayRead(runnable, principal)
            return isReadable ? JSON.stringify(toMetadata(runnable)) : undefined
          },
          cursorOf: ({ name }) => name
        },
        query
      )
      if (nextCursor !== null) {
        const next = new URLSearchParams({ limit: `${limit}`, cursor: nextCursor }).toString()
        reply.header('link', `<${surface.baseOf(reply.request)}/${kind}s?${next}>; rel="next"`)
      }
      return sendWhole(reply, `[${items.join()}]`)
    })

    scope.get(`/${kind}s/:name`, { schema: one, config }, async ({ params }, reply) =>
      sendJson(replies, reply, toMetadata(await requireExposed(surface, kind, params.name)))
    )
  }

  const config = { access: 'authenticated' } as const
  const names = {
    ...describeOperation(
      'get-registry',
      'The names of all runnables that the caller may read, and the wires of the app'
    ),
    response: {
      200: jsonReply('The names by kind, and the wires', RegistrySchema),
      ...errorReplies(400, 500)
    }
  }
  scope.get('/registry', { schema: names, config }, async ({ principal }, reply) =>
    sendJson(replies, reply, {
      agents: await namesOf('agent', principal),
      teams: await namesOf('team', principal),
      workflows: await namesOf('workflow', principal),
      wires: runs.surfaces.wires
    })
  )

  // The cursor is a name, so pages stay stable when runnables come and go.
  function pageOf(kind: RunnableKind, limit: number, after: string | undefined) {
    const sorted = exposed.list(kind).toSorted((a, b) => (a.name < b.name ? -1 : 1))
    const rest = after === undefined ? sorted : sorted.filter(({ name }) => name > after)
    const items = rest.slice(0, limit)
    return { items, nextCursor: rest.length > limit ? items.at(-1)!.name : null }
  }

  async function mayRead({ kind, name }: Runnable, principal: Principal): Promise<boolean> {
    return (await policy.authorize(principal, 'read', { kind, name })).allowed
  }

  async function namesOf(kind: RunnableKind, principal: Principal): Promise<string[]> {
    const found = exposed.list(kind)
    const isReadable = await Promise.all(found.map((each) => mayRead(each, principal)))
    return found.filter((_, index) => isReadable[index]).map(({ name }) => name)
  }
}

/** The metadata of a runnable, without properties that the schema does not name. */
function toMetadata(runnable: Runnable): RunnableMetadata {
  return Value.Clean(RunnableMetadataSchema, Value.Clone(runnable.describe())) as RunnableMetadata
}
