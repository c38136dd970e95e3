import { Type } from '@sinclair/typebox'

/** Headers that a start of a run may have. */
export const RunHeadersSchema = Type.Object({
  'Idempotency-Key': Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 255,
      pattern: '^[!-~]+$',
      description: 'The same key and body give the same run; the same key with another body is refused (422)'
    })
  ),
  Prefer: Type.Optional(
    Type.String({ description: '`respond-async` on a run: answer 202 with the run record at once' })
  )
})

/** Headers that a client of an event stream may have. */
export const StreamHeadersSchema = Type.Object({
  'Last-Event-ID': Type.Optional(
    Type.String({
      description: 'The `id` of the last message that the client has; the stream goes on after it'
    })
  )
})
