import type { AgentCard, AgentExtension, AgentProvider, AgentSkill } from '../../model/agent-card.ts'
import { encodeRequirements, encodeSchemes, type SecuritySchemeV10 } from '../security-scheme.ts'

/**
 * The agent card of version 1.0, as JSON.
 * @see https://a2a-protocol.org/v1.0.0/specification/#441-agentcard
 */
export interface AgentCardV10 {
  name: string
  description: string
  /** Where requests go, the version to prefer first. */
  supportedInterfaces: { url: string; protocolBinding: string; protocolVersion: string; tenant?: string }[]
  provider?: Required<AgentProvider>
  version: string
  capabilities: {
    streaming: boolean
    pushNotifications: boolean
    extendedAgentCard: boolean
    extensions?: AgentExtension[]
  }
  securitySchemes?: Record<string, SecuritySchemeV10>
  /** Any of these is enough; each names schemes, with the scopes that are needed. */
  securityRequirements?: { schemes: Record<string, { list: string[] }> }[]
  defaultInputModes: string[]
  defaultOutputModes: string[]
  skills: AgentSkill[]
}

export function encodeCard(card: AgentCard): AgentCardV10 {
  const { name, description, version, provider, urls, versions, skills, securitySchemes, tenant } = card
  const about = tenant === undefined ? {} : { tenant }
  const schemes = encodeSchemes(securitySchemes)
  return {
    name,
    description,
    supportedInterfaces: [...versions]
      .sort((a, b) => b.localeCompare(a))
      .flatMap((protocolVersion) => [
        { url: urls.rpc, protocolBinding: 'JSONRPC', protocolVersion, ...about },
        { url: urls.rest, protocolBinding: 'HTTP+JSON', protocolVersion, ...about }
      ]),
    ...(provider && { provider }),
    version,
    capabilities: {
      streaming: true,
      pushNotifications: card.pushNotifications,
      extendedAgentCard: card.extendedCard,
      ...(card.extensions && { extensions: [...card.extensions] })
    },
    ...(Object.keys(schemes).length > 0 && {
      securitySchemes: schemes,
      securityRequirements: encodeRequirements(schemes)
    }),
    defaultInputModes: ['text/plain', 'application/json'],
    defaultOutputModes: ['text/plain', 'application/json'],
    skills
  }
}
