import type { SecuritySchemes } from '@svc/registry'
import type { ProtocolVersion } from '../wire/versions.ts'

/** Who offers the service. */
export interface AgentProvider {
  organization: string
  url?: string
}

/** Something beyond the protocol that a service does or asks for, by its URI. */
export interface AgentExtension {
  uri: string
  description?: string
  /** Whether messages have to name it. */
  required?: boolean
  params?: Record<string, unknown>
}

/** What an agent can do, for whoever looks for one. */
export interface AgentSkill {
  id: string
  name: string
  description: string
  tags: string[]
}

/** A service of one or many agents. */
export interface AgentCard {
  name: string
  description: string
  version: string
  provider?: Required<AgentProvider>
  /** Where requests go, as JSON-RPC and as HTTP+JSON. */
  urls: { rpc: string; rest: string }
  versions: readonly ProtocolVersion[]
  /** What requests have to name, where only one agent of a service is meant. Only 1.0 has it. */
  tenant?: string
  pushNotifications: boolean
  extendedCard: boolean
  extensions?: readonly AgentExtension[]
  securitySchemes: SecuritySchemes
  skills: AgentSkill[]
}
