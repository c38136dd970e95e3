import { requireOptions } from '@svc/contract'
import { A2A_ERR_BAD_OPTION } from '../errors.ts'
import type { AgentCardSignature } from '../model/agent-card.ts'
import type { Fields } from '../wire/read-answer.ts'
import { createCardSigner, type SignCard } from './card-signer.ts'
import { createCardVerifier, type VerifyCard } from './card-verifier.ts'
import { SignCardArgumentSchema, VerifyArgumentSchema } from './signature-options.ts'

/** Returns a card with its signatures, e.g. one of `buildAgentCard`, in place of those that it has. @throws A2A_ERR_BAD_OPTION */
export async function signAgentCard<Card extends object>(
  card: Card,
  signCard: SignCard
): Promise<Card & { signatures: AgentCardSignature[] }> {
  requireOptions(SignCardArgumentSchema, { signCard }, A2A_ERR_BAD_OPTION)
  const { signatures: _, ...unsigned } = card as Fields
  const signatures = await createCardSigner(signCard).sign(JSON.stringify(unsigned))
  return { ...(unsigned as Card), signatures: [...signatures] }
}

/**
 * Verifies the signatures of a card, and returns what a valid one covers: rely on nothing else.
 * @throws A2A_ERR_BAD_CARD, A2A_ERR_BAD_OPTION, A2A_ERR_REMOTE if keys cannot be fetched
 */
export async function verifyAgentCard(card: object, verify: VerifyCard): Promise<Record<string, unknown>> {
  requireOptions(VerifyArgumentSchema, { verify }, A2A_ERR_BAD_OPTION)
  requireKeys(verify)
  return createCardVerifier(verify)(card as Fields)
}

/** Checks that a verification has keys. @throws A2A_ERR_BAD_OPTION */
export function requireKeys(verify: VerifyCard | undefined): void {
  if (typeof verify === 'object' && verify.keys === undefined && verify.jku === undefined)
    throw new A2A_ERR_BAD_OPTION('verify: it needs keys, or the URLs of key sets as jku')
}
