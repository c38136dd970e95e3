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

/** The runnable that a path names. */
export const NameParamsSchema = Type.Object({ name: Type.String({ description: 'As it was registered' }) })

/** The run that a path names. */
export const RunParamsSchema = Type.Object({
  runId: Type.String({ description: 'From `x-run-id`, a part `start` or a result' })
})

/** The approval that a path names. */
export const ApprovalParamsSchema = Type.Object({
  approvalId: Type.String({ description: 'From `GET /approvals` or a part `tool.approval.request`' })
})

/** How much of a list one asks for. */
export const pageQuery = {
  limit: Type.Integer({ minimum: 1, maximum: 100, default: 20 }),
  cursor: Type.Optional(Type.String({ minLength: 1, maxLength: 256, description: 'The last `nextCursor`' }))
}

/** Where a list goes on. */
export const nextCursor = Type.Unsafe<string | null>({
  type: 'string',
  nullable: true,
  description: 'null on the last page'
})
