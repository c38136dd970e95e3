import { Type } from '@sinclair/typebox'
import { MAX_NAME_LENGTH } from '@svc/contract'
import { WireSchema } from '@svc/surface'

/** Selects one page of runnables. */
export const RunnableQuerySchema = Type.Object(
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
export const RegistrySchema = Type.Object(
  {
    agents: Type.Array(Type.String()),
    teams: Type.Array(Type.String()),
    workflows: Type.Array(Type.String()),
    wires: Type.Array(WireSchema)
  },
  { title: 'Registry' }
)
