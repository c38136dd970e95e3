import { defined } from '@svc/contract'
import type {
  AgentCard,
  AgentCardSignature,
  AgentExtension,
  AgentProvider,
  AgentSkill
} from '../../model/agent-card.ts'
import { servedInterfaces, type ServedInterface } from '../card-interfaces.ts'
import type { SecurityScheme } from '../security-scheme.ts'
import type { ProtocolVersion } from '../versions.ts'

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

const VERSION: ProtocolVersion = '0.3'

export function encodeCard(card: AgentCard): AgentCardV03 {
  const { name, description, version, provider, skills, securitySchemes } = card
  const { documentationUrl, iconUrl } = card
  const names = Object.keys(securitySchemes)
  const served = servedInterfaces(card).map(toInterface)
  const more = (card.additionalInterfaces ?? [])
    .filter(({ protocolVersion }) => protocolVersion === VERSION)
    .map(({ url, protocolBinding: binding }) => toInterface({ url, binding }))
  return {
    protocolVersion: '0.3.0',
    name,
    description,
    url: served[0]!.url,
    preferredTransport: served[0]!.transport,
    additionalInterfaces: [...served, ...more],
    ...defined({ provider, documentationUrl, iconUrl }),
    version,
    capabilities: {
      streaming: true,
      pushNotifications: card.pushNotifications,
      stateTransitionHistory: true,
      ...(card.extensions && { extensions: [...card.extensions] })
    },
    ...(names.length > 0 && {
      // Those of `authenticate.schemes` are of this form, by their contract.
      securitySchemes: securitySchemes as unknown as Record<string, SecurityScheme>,
      security: card.security ? [...card.security] : names.map((each) => ({ [each]: [] }))
    }),
    defaultInputModes: [...card.defaultInputModes],
    defaultOutputModes: [...card.defaultOutputModes],
    skills,
    supportsAuthenticatedExtendedCard: card.extendedCard,
    ...(card.signatures && { signatures: [...card.signatures] })
  }
}

function toInterface({ url, binding }: ServedInterface): { url: string; transport: string } {
  return { url, transport: binding }
}
