import { type TProperties, type TSchema, Type } from '@sinclair/typebox'
import { defined, RunnableCardSchema, RunnableKindSchema, optionsSchema, requireOptions } from '@svc/contract'
import { type CardAgent, type CardFacts, createCard } from './build-card.ts'
import { A2A_ERR_BAD_OPTION } from '../errors.ts'
import type { AgentProvider } from '../model/agent-card.ts'
import {
  requireCardUrls,
  requireEntries,
  requireHttpUrl,
  requireInterfaces,
  requireJson,
  requireNames,
  requireSchemes
} from '../option-checks.ts'
import { CARD_FIELDS, ExtensionsSchema } from '../options.ts'
import { type BuiltCard, encodeCard } from '../wire/encode-card.ts'
import type { PROTOCOL_VERSIONS, ProtocolVersion } from '../wire/versions.ts'

/**
 * Builds the card, as JSON, of agents that are served at a URL; no server is needed. The keys of a map are the agents' names.
 * @param baseUrl the absolute URL of the JSON-RPC endpoint; HTTP+JSON is below it
 * @param provider its `url` defaults to `baseUrl`
 * @param facts the plugin's defaults apply
 * @throws A2A_ERR_BAD_OPTION for a missing, unknown or bad argument, and for two agents with one name
 */
export function buildAgentCard<const Versions extends readonly ProtocolVersion[] = typeof PROTOCOL_VERSIONS>(
  agents: CardAgent | readonly CardAgent[] | Readonly<Record<string, CardAgent>>,
  baseUrl: string,
  provider?: AgentProvider,
  facts: Omit<CardFacts, 'provider' | 'versions'> & { versions?: Versions | undefined } = {}
): BuiltCard<Versions> {
  const schema = isAgent(agents) ? OneAgentCardSchema : AgentsCardSchema
  requireOptions(schema, { agents, baseUrl, provider, facts }, A2A_ERR_BAD_OPTION)
  requireHttpUrl('baseUrl', baseUrl)
  requireCardUrls(facts, 'facts/')
  requireSchemes(facts.security, facts.securitySchemes, 'facts/')
  requireInterfaces(facts.additionalInterfaces, 'facts/')
  requireJson('facts/extensions', facts.extensions)
  requireJson('facts/securitySchemes', facts.securitySchemes)
  const list = toList(agents)
  requireNames(list)
  return encodeCard(createCard(list, baseUrl, { ...facts, provider })) as BuiltCard<Versions>
}

function toList(agents: Parameters<typeof buildAgentCard>[0]): readonly CardAgent[] {
  if (Array.isArray(agents)) return agents as readonly CardAgent[]
  if (isAgent(agents)) return [agents]
  return requireEntries(agents as Readonly<Record<string, CardAgent>>).map(([name, agent]) => ({
    kind: agent.kind,
    name,
    ...defined({ description: agent.description, card: agent.card })
  }))
}

// In a map any key holds an agent, `name` and `kind` too; only in an agent it holds a string.
function isAgent(agents: unknown): agents is CardAgent {
  const { kind, name } = (agents ?? {}) as Readonly<Record<keyof CardAgent, unknown>>
  return typeof kind === 'string' || typeof name === 'string'
}

const text = Type.String()
const maybe = Type.Optional(text)
const words = (...of: string[]) => Type.Union(of.map((each) => Type.Literal(each)))

// Fields beyond the specification go onto the card unchanged.
const scheme = (type: string, fields: TProperties) =>
  Type.Object({ type: Type.Literal(type), description: maybe, ...fields })

const flow = (fields: TProperties) =>
  Type.Optional(
    Type.Object({ ...fields, refreshUrl: maybe, scopes: Type.Record(Type.String(), Type.String()) })
  )

const FlowsSchema = Type.Object(
  {
    authorizationCode: flow({ authorizationUrl: text, tokenUrl: text }),
    clientCredentials: flow({ tokenUrl: text }),
    deviceCode: flow({ deviceAuthorizationUrl: text, tokenUrl: text }),
    implicit: flow({ authorizationUrl: text }),
    password: flow({ tokenUrl: text })
  },
  { additionalProperties: false, minProperties: 1 }
)

/**
 * Security schemes by name, in the form of OpenAPI; the cards of all versions are made from them.
 * @see https://a2a-protocol.org/v0.3.0/specification/#553-securityscheme-object
 */
const SecuritySchemesSchema = Type.Record(
  Type.String(),
  Type.Union([
    scheme('apiKey', { in: words('query', 'header', 'cookie'), name: text }),
    scheme('http', { scheme: text, bearerFormat: maybe }),
    scheme('oauth2', { flows: FlowsSchema, oauth2MetadataUrl: maybe }),
    scheme('openIdConnect', { openIdConnectUrl: text }),
    scheme('mutualTLS', {})
  ])
)

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
const OneAgentCardSchema = withAgents(AgentSchema)

/** The arguments for a card of agents, as a list or by name. */
const AgentsCardSchema = withAgents(
  Type.Union([
    Type.Array(AgentSchema, { minItems: 1 }),
    Type.Record(Type.String(), Type.Omit(AgentSchema, ['name']), { minProperties: 1 })
  ])
)
