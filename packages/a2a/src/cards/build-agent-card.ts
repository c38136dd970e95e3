import { requireOptions } from '@svc/contract'
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
import { encodeCard, type BuiltCard } from '../wire/encode-card.ts'
import type { PROTOCOL_VERSIONS, ProtocolVersion } from '../wire/versions.ts'
import { createCard, type CardAgent, type CardFacts } from './build-card.ts'
import { AgentsCardSchema, OneAgentCardSchema } from './card-options.ts'

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
    ...(agent.description !== undefined && { description: agent.description }),
    ...(agent.card !== undefined && { card: agent.card })
  }))
}

// In a map any key holds an agent, `name` and `kind` too; only in an agent it holds a string.
function isAgent(agents: unknown): agents is CardAgent {
  const { kind, name } = (agents ?? {}) as Readonly<Record<keyof CardAgent, unknown>>
  return typeof kind === 'string' || typeof name === 'string'
}
