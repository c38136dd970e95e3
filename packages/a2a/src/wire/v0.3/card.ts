import type { AgentCard } from '../../model/agent-card.ts'

/** @see https://a2a-protocol.org/v0.3.0/specification/#55-agentcard-object-structure */
export function encodeCard(card: AgentCard): Record<string, unknown> {
  const { name, description, version, provider, urls, skills, securitySchemes } = card
  const names = Object.keys(securitySchemes)
  return {
    protocolVersion: '0.3.0',
    name,
    description,
    url: urls.rpc,
    preferredTransport: 'JSONRPC',
    additionalInterfaces: [
      { url: urls.rpc, transport: 'JSONRPC' },
      { url: urls.rest, transport: 'HTTP+JSON' }
    ],
    ...(provider && { provider }),
    version,
    capabilities: {
      streaming: true,
      pushNotifications: card.pushNotifications,
      stateTransitionHistory: true,
      ...(card.extensions && { extensions: card.extensions })
    },
    ...(names.length > 0 && { securitySchemes, security: names.map((each) => ({ [each]: [] })) }),
    defaultInputModes: ['text/plain', 'application/json'],
    defaultOutputModes: ['text/plain', 'application/json'],
    skills,
    supportsAuthenticatedExtendedCard: card.extendedCard
  }
}
