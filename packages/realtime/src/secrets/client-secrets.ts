import { createHash, randomBytes } from 'node:crypto'
import { Type, type Static } from '@sinclair/typebox'
import { randomId, type Principal } from '@svc/contract'
import { RT_ERR_SECRET_TOO_LARGE } from '../errors.ts'
import { SessionConfigSchema, type SessionConfig } from '../events/session.ts'

/** The fields of a handshake that a secret fixes; those that it does not have are not for its holder to choose. */
export const SEALED_FIELDS = ['sessionId', 'userId', 'call'] as const
export type Sealed = Readonly<Partial<Record<(typeof SEALED_FIELDS)[number], string>>>

/** What a client secret stands for. */
export interface SecretClaims {
  readonly principal: Principal
  /** The name of the voice agent. */
  readonly model: string
  /** What the session begins with. */
  readonly session: SessionConfig
  /** The session and the user of the call, and the call that it continues if it does not begin one. */
  readonly sealed: Sealed
}

/** The claims of a secret, and an id of its own. */
export interface ReadSecret extends SecretClaims {
  readonly id: string
}

const PREFIX = 'ek_'
/** A secret is sent in a header, and Node takes 16 KiB of headers. */
const MAX_LENGTH = 8_192
const AUDIENCE = '@svc/realtime'
const HEADER = { alg: 'dir', enc: 'A256GCM' } as const

/**
 * Issues and reads client secrets: encrypted JWTs, so that any process with the same key reads them, and their holder sees neither
 * claims nor instructions.
 */
export class ClientSecrets {
  readonly #key: Uint8Array

  /** @param secret default: random */
  constructor(secret: string | undefined) {
    this.#key = secret === undefined ? randomBytes(32) : createHash('sha256').update(secret).digest()
  }

  /** True if a token has the form of a client secret. */
  covers(token: string | undefined): token is string {
    return token?.startsWith(PREFIX) ?? false
  }

  /** @param expiresAt seconds since the epoch @throws RT_ERR_SECRET_TOO_LARGE */
  async issue(claims: SecretClaims, expiresAt: number): Promise<string> {
    const { EncryptJWT } = await import('jose')
    const token = await new EncryptJWT({ ...claims })
      .setProtectedHeader(HEADER)
      .setJti(randomId())
      .setAudience(AUDIENCE)
      .setExpirationTime(expiresAt)
      .encrypt(this.#key)
    if (token.length + PREFIX.length > MAX_LENGTH) throw new RT_ERR_SECRET_TOO_LARGE(MAX_LENGTH)
    return PREFIX + token
  }

  /** @throws if it is not valid, or has expired */
  async read(token: string): Promise<ReadSecret> {
    const { jwtDecrypt } = await import('jose')
    const { payload } = await jwtDecrypt(token.slice(PREFIX.length), this.#key, {
      audience: AUDIENCE,
      requiredClaims: ['exp', 'jti', 'sealed'],
      keyManagementAlgorithms: [HEADER.alg],
      contentEncryptionAlgorithms: [HEADER.enc]
    })
    // Encrypted by `issue`, with a key that nothing else has.
    const { jti, ...claims } = payload
    return { ...claims, id: jti } as unknown as ReadSecret
  }
}

const sealed = (description: string) =>
  Type.Optional(Type.String({ minLength: 1, maxLength: 512, description }))

/** The body of a request for a client secret. */
export const SecretRequestSchema = Type.Object(
  {
    expires_after: Type.Optional(
      Type.Object(
        {
          anchor: Type.Optional(Type.Literal('created_at')),
          seconds: Type.Optional(Type.Integer({ minimum: 10, maximum: 7_200 }))
        },
        { additionalProperties: false }
      )
    ),
    session: SessionConfigSchema,
    sessionId: sealed('The conversation that calls with the secret continue; default: a new one for each'),
    userId: sealed('The user that calls with the secret belong to; default: the caller'),
    call: sealed('The call in progress that the secret continues, instead of beginning one: its `runId`')
  },
  { title: 'ClientSecretRequest', additionalProperties: false }
)
export type SecretRequest = Static<typeof SecretRequestSchema>

/** A client secret. */
export const SecretSchema = Type.Object(
  {
    value: Type.String({ description: 'For the handshake of one client' }),
    expires_at: Type.Integer({ description: 'Seconds since the epoch; calls that have begun go beyond it' }),
    session: Type.Object({}, { additionalProperties: true, description: 'What the session begins with' })
  },
  { title: 'ClientSecret' }
)

/** An error, as the protocol has it. */
export const ErrorBodySchema = Type.Object(
  {
    error: Type.Object({
      type: Type.String(),
      code: Type.String({ description: 'Stable, such as `RT_ERR_INVALID_TOKEN`' }),
      message: Type.String(),
      param: Type.Union([Type.String(), Type.Null()])
    })
  },
  { title: 'RealtimeError' }
)
