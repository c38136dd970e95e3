import { Type } from '@sinclair/typebox'
import { functionSchema, optionsSchema, requireOptions } from '@svc/contract'
import { A2A_ERR_BAD_OPTION } from '../errors.ts'
import type { AgentCardSignature } from '../model/agent-card.ts'
import type { Fields } from '../wire/read-answer.ts'
import {
  createCardSigner,
  SIGNATURE_ALGORITHMS,
  type CardSigningKey,
  type SignCard,
  type SignCardFunction
} from './card-signer.ts'
import {
  createCardVerifier,
  type VerifyCard,
  type VerifyCardFunction,
  type VerifyCardOptions
} from './card-verifier.ts'
import type { CardKey, CardKeys } from './verification-keys.ts'

const AlgorithmSchema = Type.Union(SIGNATURE_ALGORITHMS.map((each) => Type.Literal(each)))
// Plain HTTP for trials on one machine only: the server that answers decides which keys are trusted.
const KeySetUrlSchema = Type.String({
  maxLength: 2048,
  pattern: String.raw`^(https://[^\s/?#]\S*|http://(localhost|127\.0\.0\.1|\[::1\])([:/]\S*)?)$`
})
const text = Type.String({ minLength: 1 })
const JwkSchema = Type.Object({ kty: text })

const { properties: named } = optionsSchema<Omit<CardSigningKey, 'key'>>({
  kid: text,
  alg: AlgorithmSchema,
  jku: KeySetUrlSchema
})
// The key has an error of its own.
const SigningKeySchema = Type.Object({ key: Type.Any(), ...named }, { additionalProperties: false })

/** The option `signCard`. */
export const SignCardSchema = Type.Unsafe<SignCard>(
  Type.Union([
    functionSchema<SignCardFunction>(),
    SigningKeySchema,
    Type.Array(SigningKeySchema, { minItems: 1, maxItems: 8 })
  ])
)

/** The option `verify`. */
export const VerifyCardSchema = Type.Unsafe<VerifyCard>(
  Type.Union([
    functionSchema<VerifyCardFunction>(),
    optionsSchema<VerifyCardOptions>({
      keys: Type.Unsafe<CardKeys>(
        Type.Union([
          Type.Array(JwkSchema, { minItems: 1, maxItems: 100 }),
          KeySetUrlSchema,
          functionSchema<(header: never) => CardKey>()
        ])
      ),
      jku: Type.Array(KeySetUrlSchema, { minItems: 1 }),
      algorithms: Type.Array(AlgorithmSchema, { minItems: 1 }),
      required: Type.Boolean()
    })
  ])
)

/** The options as arguments, so that faults name them. */
const SignCardArgumentSchema = Type.Object({ signCard: SignCardSchema })
const VerifyArgumentSchema = Type.Object({ verify: VerifyCardSchema })

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
