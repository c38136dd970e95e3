import type { SecuritySchemes } from '@svc/registry'
import type { AgentCard, AgentExtension, AgentProvider, AgentSkill } from '../../model/agent-card.ts'
import type { SchemeFields } from '../security-scheme.ts'

/** A security scheme of 1.0: one of these members. */
export interface SecuritySchemeV10 {
  apiKeySecurityScheme?: Omit<SchemeFields['apiKey'], 'in'> & { location: SchemeFields['apiKey']['in'] }
  httpAuthSecurityScheme?: SchemeFields['http']
  /** With one flow. */
  oauth2SecurityScheme?: SchemeFields['oauth2']
  openIdConnectSecurityScheme?: SchemeFields['openIdConnect']
  mtlsSecurityScheme?: SchemeFields['mutualTLS']
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
  const names = Object.keys(schemes)
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
    ...(names.length > 0 && {
      securitySchemes: schemes,
      securityRequirements: names.map((each) => ({ schemes: { [each]: { list: [] } } }))
    }),
    defaultInputModes: ['text/plain', 'application/json'],
    defaultOutputModes: ['text/plain', 'application/json'],
    skills
  }
}

const MEMBERS: Readonly<Record<string, keyof SecuritySchemeV10>> = {
  http: 'httpAuthSecurityScheme',
  apiKey: 'apiKeySecurityScheme',
  oauth2: 'oauth2SecurityScheme',
  openIdConnect: 'openIdConnectSecurityScheme',
  mutualTLS: 'mtlsSecurityScheme'
}

function encodeSchemes(schemes: SecuritySchemes): Record<string, SecuritySchemeV10> {
  return Object.fromEntries(
    Object.entries(schemes).flatMap(([name, { type, in: location, flows, ...scheme }]) => {
      const member = MEMBERS[String(type)]
      const more = {
        ...(location !== undefined && { location }),
        ...(flows !== undefined && { flows: firstOf(flows as object) })
      }
      return member === undefined ? [] : [[name, { [member]: { ...scheme, ...more } }]]
    })
  )
}

// A scheme of this version has one flow.
function firstOf(flows: object): object {
  return Object.fromEntries(Object.entries(flows).slice(0, 1))
}
