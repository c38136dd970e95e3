import type { Runnable, RunnableDefinition, SecuritySchemes } from '@svc/registry'
import type { AgentCard, AgentExtension, AgentProvider, AgentSkill } from '../model/agent-card.ts'
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
}

/** A runnable, or the definition of one. */
export type CardAgent = Pick<Runnable | RunnableDefinition, 'kind' | 'name' | 'description'>

/** Makes the neutral card of the agents at a URL. */
export function createCard(agents: readonly CardAgent[], url: string, facts: CardFacts = {}): AgentCard {
  const names = agents.map(({ name }) => name)
  const [only] = agents
  const isOne = agents.length === 1
  return {
    name: facts.name ?? (isOne ? only!.name : 'Agent service'),
    description: facts.description ?? describe(names, only?.description),
    version: facts.version ?? '1.0.0',
    // The protocol requires a URL.
    ...(facts.provider && { provider: { url, ...facts.provider } }),
    urls: { rpc: url, rest: url.replace(/\/+$/, '') },
    versions: facts.versions ?? PROTOCOL_VERSIONS,
    ...(facts.tenant !== undefined && { tenant: facts.tenant }),
    pushNotifications: facts.pushNotifications ?? false,
    extendedCard: facts.extendedCard ?? false,
    ...(facts.extensions?.length && { extensions: facts.extensions }),
    securitySchemes: facts.securitySchemes ?? {},
    skills: agents.map(toSkill)
  }
}

function describe(names: readonly string[], about: string | undefined): string {
  if (names.length === 0) return '0 agents.'
  if (names.length === 1) return `1 agent: ${names[0]}.${about ? ` ${about}` : ''}`
  return `${names.length} agents: ${names.join(', ')}.`
}

function toSkill({ kind, name, description }: CardAgent): AgentSkill {
  return { id: name, name, description: description || `The ${kind} ${name}`, tags: [kind] }
}
