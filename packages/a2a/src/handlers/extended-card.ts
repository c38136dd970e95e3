import { A2A_ERR_NO_EXTENDED_CARD, A2A_ERR_UNSUPPORTED } from '../errors.ts'
import type { AgentCard } from '../model/agent-card.ts'
import type { Call } from '../model/requests.ts'
import type { Surface } from '../service/surface.ts'

/**
 * The card for authenticated callers, signed as the public one. A service without one refuses, in the words of the version.
 * @throws A2A_ERR_UNSUPPORTED, A2A_ERR_NO_EXTENDED_CARD
 * @see https://a2a-protocol.org/v1.0.0/specification/#334-capability-validation
 */
export async function extendedCard(
  surface: Surface,
  { principal, origin, hasNoCardError, encodeCard }: Call
): Promise<AgentCard> {
  const { extendCard, signer } = surface
  if (extendCard !== undefined) {
    const card = await extendCard(surface.buildCard(origin), principal)
    if (signer === undefined) return card
    const { signatures: _, ...unsigned } = card
    return { ...card, signatures: await signer.sign(JSON.stringify(encodeCard(unsigned))) }
  }
  throw hasNoCardError
    ? new A2A_ERR_NO_EXTENDED_CARD()
    : new A2A_ERR_UNSUPPORTED('the service has no extended card')
}
