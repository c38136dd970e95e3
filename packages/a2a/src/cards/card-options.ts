import { Type, type TSchema } from '@sinclair/typebox'
import { optionsSchema, RunnableCardSchema, RunnableKindSchema } from '@svc/contract'
import { CARD_FIELDS, ExtensionsSchema } from '../options.ts'
import type { CardFacts } from './build-card.ts'
import { SecuritySchemesSchema } from './security-schemes.ts'

const { provider, ...shown } = CARD_FIELDS

const FactsSchema = optionsSchema<Omit<CardFacts, 'provider'>>({
  ...shown,
  extensions: ExtensionsSchema,
  pushNotifications: Type.Boolean(),
  extendedCard: Type.Boolean(),
  securitySchemes: SecuritySchemesSchema,
  tenant: Type.String({ minLength: 1 }),
  grpcUrl: Type.String({ minLength: 1 })
})

const AgentSchema = Type.Object({
  kind: RunnableKindSchema,
  name: Type.String(),
  description: Type.Optional(Type.String()),
  card: Type.Optional(RunnableCardSchema)
})

const withAgents = (agents: TSchema) =>
  Type.Object({ agents, baseUrl: Type.String(), provider: Type.Optional(provider), facts: FactsSchema })

/** The arguments for a card of one agent. */
export const OneAgentCardSchema = withAgents(AgentSchema)

/** The arguments for a card of agents, as a list or by name. */
export const AgentsCardSchema = withAgents(
  Type.Union([
    Type.Array(AgentSchema, { minItems: 1 }),
    Type.Record(Type.String(), Type.Omit(AgentSchema, ['name']), { minProperties: 1 })
  ])
)
