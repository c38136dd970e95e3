import type { SecuritySchemes } from '@svc/registry'
import type { AgentCard } from '../../model/agent-card.ts'

/** @see https://a2a-protocol.org/v1.0.0/specification/#441-agentcard */
export function encodeCard(card: AgentCard): Record<string, unknown> {
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
      ...(card.extensions && { extensions: card.extensions })
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

const MEMBERS: Readonly<Record<string, string>> = {
  http: 'httpAuthSecurityScheme',
  apiKey: 'apiKeySecurityScheme',
  oauth2: 'oauth2SecurityScheme',
  openIdConnect: 'openIdConnectSecurityScheme',
  mutualTLS: 'mtlsSecurityScheme'
}

function encodeSchemes(schemes: SecuritySchemes): object {
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
