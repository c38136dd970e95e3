import { defined } from '@svc/contract'
import type {
  AgentCard,
  AgentCardSignature,
  AgentExtension,
  AgentProvider,
  AgentSkill
} from '../../model/agent-card.ts'
import { servedInterfaces } from '../card-interfaces.ts'
import {
  encodeRequirement,
  encodeRequirements,
  encodeSchemes,
  type SecurityRequirementV10,
  type SecuritySchemeV10
} from '../security-scheme.ts'

/** A skill on the card of version 1.0. */
export interface AgentSkillV10 extends Omit<AgentSkill, 'security'> {
  securityRequirements?: SecurityRequirementV10[]
}

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
  documentationUrl?: string
  iconUrl?: string
  capabilities: {
    streaming: boolean
    pushNotifications: boolean
    extendedAgentCard: boolean
    extensions?: AgentExtension[]
  }
  securitySchemes?: Record<string, SecuritySchemeV10>
  /** Any of these is enough; each names schemes, with the scopes that are needed. */
  securityRequirements?: SecurityRequirementV10[]
  defaultInputModes: string[]
  defaultOutputModes: string[]
  skills: AgentSkillV10[]
  signatures?: AgentCardSignature[]
}

export function encodeCard(card: AgentCard): AgentCardV10 {
  const { name, description, version, provider, versions, skills, securitySchemes, tenant } = card
  const { documentationUrl, iconUrl } = card
  const about = tenant === undefined ? {} : { tenant }
  const served = [...versions]
    .sort((a, b) => b.localeCompare(a))
    .flatMap((protocolVersion) =>
      servedInterfaces(card).map(({ url, binding }) => ({
        url,
        protocolBinding: binding,
        protocolVersion,
        ...about
      }))
    )
  const schemes = encodeSchemes(securitySchemes)
  return {
    name,
    description,
    supportedInterfaces: [...served, ...(card.additionalInterfaces ?? [])],
    ...defined({ provider, documentationUrl, iconUrl }),
    version,
    capabilities: {
      streaming: true,
      pushNotifications: card.pushNotifications,
      extendedAgentCard: card.extendedCard,
      ...(card.extensions && { extensions: [...card.extensions] })
    },
    ...(Object.keys(schemes).length > 0 && {
      securitySchemes: schemes,
      securityRequirements: card.security?.map(encodeRequirement) ?? encodeRequirements(schemes)
    }),
    defaultInputModes: [...card.defaultInputModes],
    defaultOutputModes: [...card.defaultOutputModes],
    skills: skills.map(({ security, ...skill }) => ({
      ...skill,
      ...(security && { securityRequirements: security.map(encodeRequirement) })
    })),
    ...(card.signatures && { signatures: [...card.signatures] })
  }
}
