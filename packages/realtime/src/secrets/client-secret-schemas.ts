import { Type, type Static } from '@sinclair/typebox'
import { SessionConfigSchema } from '../events/session.ts'

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
