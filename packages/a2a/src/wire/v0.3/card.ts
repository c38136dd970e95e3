import type {
  AgentCard,
  AgentCardSignature,
  AgentExtension,
  AgentProvider,
  AgentSkill
} from '../../model/agent-card.ts'
import type { SecurityScheme } from '../security-scheme.ts'

/**
 * The agent card of versions 0.2 and 0.3, as JSON.
 * @see https://a2a-protocol.org/v0.3.0/specification/#55-agentcard-object-structure
 */
export interface AgentCardV03 {
  protocolVersion: string
  name: string
  description: string
  /** Of the JSON-RPC endpoint. */
  url: string
  preferredTransport: string
  additionalInterfaces: { url: string; transport: string }[]
  provider?: Required<AgentProvider>
  version: string
  documentationUrl?: string
  iconUrl?: string
  capabilities: {
    streaming: boolean
    pushNotifications: boolean
    stateTransitionHistory: boolean
    extensions?: AgentExtension[]
  }
  securitySchemes?: Record<string, SecurityScheme>
  /** Any of these is enough; each names schemes, with the scopes that are needed. */
  security?: Record<string, string[]>[]
  defaultInputModes: string[]
  defaultOutputModes: string[]
  skills: AgentSkill[]
  supportsAuthenticatedExtendedCard: boolean
  signatures?: AgentCardSignature[]
}

export function encodeCard(card: AgentCard): AgentCardV03 {
  const { name, description, version, provider, urls, skills, securitySchemes } = card
  const { documentationUrl, iconUrl } = card
  const names = Object.keys(securitySchemes)
  return {
    protocolVersion: '0.3.0',
    name,
    description,
    url: urls.rpc,
    preferredTransport: 'JSONRPC',
    additionalInterfaces: [
      { url: urls.rpc, transport: 'JSONRPC' },
      { url: urls.rest, transport: 'HTTP+JSON' },
      ...(urls.grpc === undefined ? [] : [{ url: urls.grpc, transport: 'GRPC' }])
    ],
    ...(provider && { provider }),
    version,
    ...(documentationUrl !== undefined && { documentationUrl }),
    ...(iconUrl !== undefined && { iconUrl }),
    capabilities: {
      streaming: true,
      pushNotifications: card.pushNotifications,
      stateTransitionHistory: true,
      ...(card.extensions && { extensions: [...card.extensions] })
    },
    ...(names.length > 0 && {
      // Those of `authenticate.schemes` are of this form, by their contract.
      securitySchemes: securitySchemes as unknown as Record<string, SecurityScheme>,
      security: names.map((each) => ({ [each]: [] }))
    }),
    defaultInputModes: [...card.defaultInputModes],
    defaultOutputModes: [...card.defaultOutputModes],
    skills,
    supportsAuthenticatedExtendedCard: card.extendedCard,
    ...(card.signatures && { signatures: [...card.signatures] })
  }
}
