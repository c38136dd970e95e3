import { Type, type TSchema } from '@sinclair/typebox'
import { RunnableKindSchema } from '@svc/registry/kit'
import { A2aOptionsSchema } from '../options.ts'
import { SecuritySchemesSchema } from './security-schemes.ts'

const { name, description, version, versions, provider, extensions } = A2aOptionsSchema.properties
const flag = Type.Optional(Type.Boolean())

const FactsSchema = Type.Object(
  {
    ...{ name, description, version, versions, extensions },
    pushNotifications: flag,
    extendedCard: flag,
    securitySchemes: Type.Optional(SecuritySchemesSchema),
    tenant: Type.Optional(Type.String({ minLength: 1 }))
  },
  { additionalProperties: false }
)

const AgentSchema = Type.Object({
  kind: RunnableKindSchema,
  name: Type.String(),
  description: Type.Optional(Type.String())
})

const withAgents = (agents: TSchema) =>
  Type.Object({ agents, baseUrl: Type.String(), provider, facts: FactsSchema })

/** The arguments for a card of one agent. */
export const OneAgentCardSchema = withAgents(AgentSchema)

/** The arguments for a card of agents, as a list or by name. */
export const AgentsCardSchema = withAgents(
  Type.Union([
    Type.Array(AgentSchema, { minItems: 1 }),
    Type.Record(Type.String(), Type.Omit(AgentSchema, ['name']), { minProperties: 1 })
  ])
)
