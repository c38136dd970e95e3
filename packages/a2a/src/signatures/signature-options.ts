import { Type } from '@sinclair/typebox'
import { functionSchema, optionsSchema } from '@svc/contract'
import { SIGNATURE_ALGORITHMS } from './algorithms.ts'
import type { CardSigningKey, SignCard, SignCardFunction } from './card-signer.ts'
import type { CardKeys, CardKey } from './verification-keys.ts'
import type { VerifyCard, VerifyCardFunction, VerifyCardOptions } from './card-verifier.ts'

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
export const SignCardArgumentSchema = Type.Object({ signCard: SignCardSchema })
export const VerifyArgumentSchema = Type.Object({ verify: VerifyCardSchema })
