import type { AgentCard } from '../model/agent-card.ts'
import { encodeCard as encodeV03, type AgentCardV03 } from './v0.3/card.ts'
import { encodeCard as encodeV10, type AgentCardV10 } from './v1.0/card.ts'
import type { ProtocolVersion } from './versions.ts'

export type { AgentCardV03, AgentCardV10 }

/** The JSON of a card that serves clients of some versions. */
export type BuiltCard<Versions extends readonly ProtocolVersion[]> = number extends Versions['length']
  ? AgentCardV03 | AgentCardV10
  : Versions['length'] extends 1
    ? CardsOf[Versions[number]]
    : AgentCardV03 & AgentCardV10

interface CardsOf {
  '0.3': AgentCardV03
  '1.0': AgentCardV10
}

/**
 * The card for a client that names a version, or none. Clients of every version ignore unknown members, so one card serves
 * all; a client of 1.0 gets its own form alone.
 */
export function encodeCard(card: AgentCard, named?: ProtocolVersion): AgentCardV03 | AgentCardV10 {
  const { versions } = card
  if (named === '1.0' || !versions.includes('0.3')) return encodeV10(card)
  if (!versions.includes('1.0')) return encodeV03(card)
  return merge(encodeV03(card), encodeV10(card))
}

// Each security scheme in both forms: flat with a `type`, and as the member that 1.0 has for it.
function merge(legacy: AgentCardV03, current: AgentCardV10): AgentCardV03 & AgentCardV10 {
  const { securitySchemes } = legacy
  const nested = current.securitySchemes ?? {}
  return {
    ...current,
    ...legacy,
    capabilities: { ...legacy.capabilities, ...current.capabilities },
    skills: legacy.skills.map((skill, index) => ({ ...skill, ...current.skills[index] })),
    ...(securitySchemes && {
      securitySchemes: Object.fromEntries(
        Object.entries(securitySchemes).map(([name, scheme]) => [name, { ...scheme, ...nested[name] }])
      )
    })
  } as AgentCardV03 & AgentCardV10
}
