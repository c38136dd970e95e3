import type { SecuritySchemes } from '@svc/contract'
import type { ProtocolVersion } from '../wire/versions.ts'

/** The organization that offers a service. */
export interface AgentProvider {
  organization: string
  url?: string
}

/** An extension of the protocol, identified by its URI. */
export interface AgentExtension {
  uri: string
  description?: string
  /** True if every message has to name it. */
  required?: boolean
  params?: Record<string, unknown>
}

/**
 * A signature of a card: RFC 7515, section 7.2.2, without the payload.
 * @see https://a2a-protocol.org/v1.0.0/specification/#447-agentcardsignature
 */
export interface AgentCardSignature {
  /** The protected header, as base64url. */
  protected: string
  /** As base64url. */
  signature: string
  /** The unprotected header. */
  header?: Record<string, unknown>
}

/** What an agent can do, for discovery. */
export interface AgentSkill {
  id: string
  name: string
  description: string
  tags: string[]
  examples?: string[]
  /** Media types, with wildcards; default: those of the card. */
  inputModes?: string[]
  outputModes?: string[]
  /** Any of these is enough; each names schemes, with the scopes that are needed. Default: those of the card. */
  security?: SecurityRequirement[]
}

/** Schemes that are needed together, with the scopes of each, as an app gives them. */
export type GivenRequirement = Readonly<Record<string, readonly string[]>>

/** The bindings that a service can prefer. */
export type Binding = 'JSONRPC' | 'HTTP+JSON' | 'GRPC'

/** An interface of an agent that something else serves. */
export interface AgentInterface {
  url: string
  /** `JSONRPC`, `HTTP+JSON`, `GRPC`, or the URI of another one. */
  protocolBinding: string
  /** The version of the protocol, such as `1.0`. */
  protocolVersion: string
}

/** Schemes that are needed together, with the scopes of each. */
export type SecurityRequirement = Record<string, string[]>

/** A service of one or many agents. */
export interface AgentCard {
  name: string
  description: string
  version: string
  provider?: Required<AgentProvider>
  /** The endpoints of JSON-RPC and HTTP+JSON, and the `host:port` of gRPC. */
  urls: { rpc: string; rest: string; grpc?: string }
  /** The binding that cards show first. */
  preferredBinding?: Binding
  /** Interfaces that something else serves; they come last. */
  additionalInterfaces?: readonly AgentInterface[]
  versions: readonly ProtocolVersion[]
  /** The tenant that requests have to name, on the card of one agent of several. */
  tenant?: string
  pushNotifications: boolean
  extendedCard: boolean
  extensions?: readonly AgentExtension[]
  securitySchemes: SecuritySchemes
  /** Any of these is enough; default: any one of the schemes. */
  security?: readonly SecurityRequirement[]
  /** Media types of messages, with wildcards. */
  defaultInputModes: readonly string[]
  /** Media types of answers. */
  defaultOutputModes: readonly string[]
  documentationUrl?: string
  iconUrl?: string
  skills: AgentSkill[]
  signatures?: readonly AgentCardSignature[]
}
