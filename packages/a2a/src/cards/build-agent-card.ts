import type { AgentProvider } from '../model/agent-card.ts'
import { createCard, type CardAgent, type CardFacts } from './build-card.ts'
import { encodeCard } from './encode-card.ts'

/** The card, as JSON, of one or many agents that are served at a URL: no server is needed. */
export function buildAgentCard(
  agents: CardAgent | readonly CardAgent[] | Readonly<Record<string, CardAgent>>,
  baseUrl: string,
  provider?: AgentProvider,
  facts: Omit<CardFacts, 'provider'> = {}
): Record<string, unknown> {
  return encodeCard(createCard(toList(agents), baseUrl, { ...facts, provider }))
}

function toList(agents: Parameters<typeof buildAgentCard>[0]): readonly CardAgent[] {
  if (Array.isArray(agents)) return agents as readonly CardAgent[]
  if (isAgent(agents)) return [agents]
  return Object.entries(agents as Readonly<Record<string, CardAgent>>).map(([name, agent]) => ({
    kind: agent.kind,
    name,
    ...(agent.description !== undefined && { description: agent.description })
  }))
}

function isAgent(agents: object): agents is CardAgent {
  return typeof (agents as { name?: unknown }).name === 'string'
}
