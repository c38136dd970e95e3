import {
  defined,
  type Runnable,
  type RunnableCard,
  type RunnableDefinition,
  type SecuritySchemes
} from '@svc/contract'
import type {
  AgentCard,
  AgentExtension,
  AgentInterface,
  AgentProvider,
  AgentSkill,
  Binding,
  GivenRequirement,
  SecurityRequirement
} from '../model/agent-card.ts'
import { DEFAULT_MODES } from '../model/media-types.ts'
import { codecFor } from '../wire/codec-for.ts'
import { PROTOCOL_VERSIONS, type ProtocolVersion } from '../wire/versions.ts'

/** The contents of a card, besides its agents. */
export interface CardFacts {
  /** Default: the name of the only agent, or `Agent service`. */
  name?: string | undefined
  /** Default: the count and the names of the agents. */
  description?: string | undefined
  /** Version of the service; default `1.0.0`. */
  version?: string | undefined
  /** The organization that offers the service. */
  provider?: AgentProvider | undefined
  /** Versions of the protocol; default all. */
  versions?: readonly ProtocolVersion[] | undefined
  /** Whether the service sends push notifications; default `false`. */
  pushNotifications?: boolean | undefined
  /** Whether authenticated callers get another card; default `false`. */
  extendedCard?: boolean | undefined
  /** Extensions of the protocol. */
  extensions?: readonly AgentExtension[] | undefined
  /** The accepted credentials, in the form of OpenAPI. */
  securitySchemes?: SecuritySchemes | undefined
  /** The tenant that requests have to name. */
  tenant?: string | undefined
  /** Media types of messages, unless an agent has its own; default `text/plain` and `application/json`. */
  defaultInputModes?: readonly string[] | undefined
  /** Media types of answers, unless an agent has its own; default `text/plain` and `application/json`. */
  defaultOutputModes?: readonly string[] | undefined
  /** The URL of the documentation; default: that of the only agent. */
  documentationUrl?: string | undefined
  /** The URL of the icon; default: that of the only agent. */
  iconUrl?: string | undefined
  /** The credentials that suffice: any of these, each naming schemes with their scopes; default: any one of the schemes. */
  security?: readonly GivenRequirement[] | undefined
  /** The binding to show first; default `JSONRPC`. */
  preferredBinding?: Binding | undefined
  /** Interfaces that something else serves, to show last. */
  additionalInterfaces?: readonly AgentInterface[] | undefined
  /** `host:port` of gRPC, if it is served. */
  grpcUrl?: string | undefined
}

/** A runnable, or the definition of one. */
export type CardAgent = Pick<Runnable | RunnableDefinition, 'kind' | 'name' | 'description' | 'card'>

/** Makes the neutral card of the agents at a URL. */
export function createCard(agents: readonly CardAgent[], url: string, facts: CardFacts = {}): AgentCard {
  const names = agents.map(({ name }) => name)
  const [only] = agents
  const isOne = agents.length === 1
  const own: RunnableCard = (isOne ? only!.card : undefined) ?? {}
  const { documentationUrl = own.documentationUrl, iconUrl = own.iconUrl } = facts
  return {
    name: facts.name ?? (isOne ? (own.title ?? only!.name) : 'Agent service'),
    description: facts.description ?? describe(names, only?.description),
    version: facts.version ?? '1.0.0',
    // The protocol requires a URL.
    ...(facts.provider && { provider: { url, ...facts.provider } }),
    urls: { rpc: url, rest: url.replace(/\/+$/, ''), ...defined({ grpc: facts.grpcUrl }) },
    ...(facts.preferredBinding && { preferredBinding: facts.preferredBinding }),
    ...(facts.additionalInterfaces?.length && { additionalInterfaces: facts.additionalInterfaces }),
    versions: facts.versions ?? PROTOCOL_VERSIONS,
    ...(facts.tenant !== undefined && { tenant: facts.tenant }),
    pushNotifications: facts.pushNotifications ?? false,
    extendedCard: facts.extendedCard ?? false,
    ...(facts.extensions?.length && { extensions: facts.extensions }),
    securitySchemes: facts.securitySchemes ?? {},
    ...(facts.security && { security: facts.security.map(copyRequirement) }),
    defaultInputModes: facts.defaultInputModes ?? own.inputModes ?? DEFAULT_MODES,
    defaultOutputModes: facts.defaultOutputModes ?? own.outputModes ?? DEFAULT_MODES,
    ...defined({ documentationUrl, iconUrl }),
    skills: agents.map(toSkill)
  }
}

function describe(names: readonly string[], about: string | undefined): string {
  if (names.length === 0) return '0 agents.'
  if (names.length === 1) return `1 agent: ${names[0]}.${about ? ` ${about}` : ''}`
  return `${names.length} agents: ${names.join(', ')}.`
}

function toSkill({ kind, name, description, card = {} }: CardAgent): AgentSkill {
  const { title = name, tags = [kind], examples, inputModes, outputModes, security } = card
  return {
    id: name,
    name: title,
    description: description || `The ${kind} ${name}`,
    tags: [...tags],
    ...(examples && { examples: [...examples] }),
    ...(inputModes && { inputModes: [...inputModes] }),
    ...(outputModes && { outputModes: [...outputModes] }),
    ...(security && { security: security.map(copyRequirement) })
  }
}

function copyRequirement(given: GivenRequirement): SecurityRequirement {
  return Object.fromEntries(Object.entries(given).map(([scheme, scopes]) => [scheme, [...scopes]]))
}

/** What the card of a tenant says; it has the versions in which requests can name it. */
export function toTenantFacts(
  facts: CardFacts & { versions: readonly ProtocolVersion[] },
  agent: Runnable
): CardFacts {
  const versions = facts.versions.filter((version) => codecFor(version, 'rpc').hasTenants)
  return { ...toAgentFacts(facts, agent), versions, tenant: agent.name }
}

/** What the card of one agent of several says: what the agent says of itself. */
export function toAgentFacts(facts: CardFacts, { card = {} }: Runnable): CardFacts {
  return {
    ...facts,
    name: undefined,
    description: undefined,
    additionalInterfaces: undefined,
    defaultInputModes: card.inputModes ?? facts.defaultInputModes,
    defaultOutputModes: card.outputModes ?? facts.defaultOutputModes,
    documentationUrl: card.documentationUrl ?? facts.documentationUrl,
    iconUrl: card.iconUrl ?? facts.iconUrl
  }
}
