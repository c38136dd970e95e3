import type { AgentCard, ProtocolVersion } from '../model/agent-card.ts'
import { codecV03 } from '../wire/v0.3/codec.ts'
import { codecV10 } from '../wire/v1.0/codec.ts'

/** Clients before 1.0 ignore what they do not know, and so do those of 1.0: one card can serve all. */
export function encodeCard(card: AgentCard, version?: ProtocolVersion): Record<string, unknown> {
  const only = version ?? (card.versions.length === 1 ? card.versions[0] : undefined)
  if (only === '1.0') return codecV10.encodeCard(card)
  if (only === '0.3') return codecV03.encodeCard(card)
  const legacy = codecV03.encodeCard(card)
  const current = codecV10.encodeCard(card)
  return {
    ...current,
    ...legacy,
    capabilities: { ...(legacy['capabilities'] as object), ...(current['capabilities'] as object) },
    ...(legacy['securitySchemes'] !== undefined && {
      securitySchemes: mergeSchemes(legacy['securitySchemes'], current['securitySchemes'])
    })
  }
}

// Each scheme in both shapes: flat, told apart by `type`, and as the member that 1.0 has for it.
function mergeSchemes(legacy: unknown, current: unknown): Record<string, object> {
  const nested = (current ?? {}) as Record<string, object>
  return Object.fromEntries(
    Object.entries(legacy as Record<string, object>).map(([name, scheme]) => [
      name,
      { ...scheme, ...nested[name] }
    ])
  )
}
