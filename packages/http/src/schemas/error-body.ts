import { Type, type Static } from '@sinclair/typebox'

const details = {
  code: Type.String({ description: 'Stable; see the list of error codes' }),
  requestId: Type.String(),
  errors: Type.Optional(
    Type.Array(Type.Object({ path: Type.String(), message: Type.String() }), {
      description: 'The faults of an invalid request'
    })
  ),
  runId: Type.Optional(
    Type.String({ description: 'With `RUN_ERR_SESSION_BUSY`: the run that has the turn of the session' })
  )
}

/** The body of every error. */
export const ErrorBodySchema = Type.Object(
  { statusCode: Type.Integer(), error: Type.String(), message: Type.String(), ...details },
  { title: 'Error' }
)
export type ErrorBody = Static<typeof ErrorBodySchema>

/**
 * The same facts for clients that accept `application/problem+json`.
 * @see https://www.rfc-editor.org/rfc/rfc9457
 */
export const ProblemSchema = Type.Object(
  { type: Type.String(), title: Type.String(), status: Type.Integer(), detail: Type.String(), ...details },
  { title: 'Problem' }
)
export type Problem = Static<typeof ProblemSchema>
