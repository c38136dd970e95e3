import { Type } from '@sinclair/typebox'
import { PendingInputSchema } from '@svc/contract'
import { nextCursor, pageQuery } from './parameters.ts'

/** Selects one page of pending questions and client tools. */
export const InputQuerySchema = Type.Object(
  {
    runId: Type.Optional(
      Type.String({ minLength: 1, maxLength: 256, description: 'Only the inputs of this run' })
    ),
    ...pageQuery
  },
  { title: 'InputQuery', additionalProperties: false }
)

/** A pending question or client tool that the caller may answer. */
export const InputSchema = Type.Object(
  {
    ...PendingInputSchema.properties,
    href: Type.String({ description: 'The URL of the input with all its arguments' })
  },
  { title: 'Input' }
)

/** One page of pending questions and client tools. */
export const InputListSchema = Type.Object(
  { inputs: Type.Array(InputSchema), nextCursor },
  { title: 'InputList' }
)
