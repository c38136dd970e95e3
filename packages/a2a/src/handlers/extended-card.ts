import { A2A_ERR_NO_EXTENDED_CARD } from '../errors.ts'
import type { AgentCard } from '../model/agent-card.ts'
import type { Call } from '../model/requests.ts'
import type { Surface } from '../service/surface.ts'

/** The card for authenticated callers. @throws A2A_ERR_NO_EXTENDED_CARD */
export async function extendedCard(surface: Surface, { principal, origin }: Call): Promise<AgentCard> {
  if (surface.extendCard === undefined) throw new A2A_ERR_NO_EXTENDED_CARD()
  return surface.extendCard(surface.buildCard(origin), principal)
}
