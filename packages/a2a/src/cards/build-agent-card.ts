import { requireOptions } from '@svc/registry'
import { A2A_ERR_BAD_OPTION } from '../errors.ts'
import type { AgentProvider } from '../model/agent-card.ts'
import type { PROTOCOL_VERSIONS, ProtocolVersion } from '../wire/versions.ts'
import { requireEntries, requireHttpUrl, requireJson, requireNames } from '../option-checks.ts'
import { createCard, type CardAgent, type CardFacts } from './build-card.ts'
import { AgentsCardSchema, OneAgentCardSchema } from './card-options.ts'
import { encodeCard, type BuiltCard } from '../wire/encode-card.ts'

/**
 * The card, as JSON, of one or many agents that are served at a URL: no server is needed. Of a map the keys are the names.
 * @param baseUrl of the JSON-RPC endpoint, absolute; those of HTTP+JSON are below it
 * @param provider its `url` is `baseUrl` where nothing else is said
 * @param facts default: those that the plugin has
 * @throws A2A_ERR_BAD_OPTION for what is missing, unknown or bad, and for two agents of one name
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
  requireJson('facts.extensions', facts.extensions)
  requireJson('facts.securitySchemes', facts.securitySchemes)
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
    ...(agent.description !== undefined && { description: agent.description })
  }))
}

// In a map there is an agent under every key, `name` and `kind` too: a text is there of an agent only.
function isAgent(agents: unknown): agents is CardAgent {
  const { kind, name } = (agents ?? {}) as Readonly<Record<keyof CardAgent, unknown>>
  return typeof kind === 'string' || typeof name === 'string'
}
