import type { AgentCard, ProtocolVersion } from '../model/agent-card.ts'
import { encodeCard as encodeV03, type AgentCardV03 } from '../wire/v0.3/card.ts'
import { encodeCard as encodeV10, type AgentCardV10 } from '../wire/v1.0/card.ts'

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

/** Clients before 1.0 ignore what they do not know, and so do those of 1.0: one card can serve all. */
export function encodeCard(card: AgentCard, version?: ProtocolVersion): AgentCardV03 | AgentCardV10 {
  const only = version ?? (card.versions.length === 1 ? card.versions[0] : undefined)
  if (only === '1.0') return encodeV10(card)
  if (only === '0.3') return encodeV03(card)
  return merge(encodeV03(card), encodeV10(card))
}

// Each security scheme in both shapes: flat, told apart by `type`, and as the member that 1.0 has for it.
function merge(legacy: AgentCardV03, current: AgentCardV10): AgentCardV03 & AgentCardV10 {
  const { securitySchemes } = legacy
  const nested = current.securitySchemes ?? {}
  return {
    ...current,
    ...legacy,
    capabilities: { ...legacy.capabilities, ...current.capabilities },
    ...(securitySchemes && {
      securitySchemes: Object.fromEntries(
        Object.entries(securitySchemes).map(([name, scheme]) => [name, { ...scheme, ...nested[name] }])
      )
    })
  } as AgentCardV03 & AgentCardV10
}
