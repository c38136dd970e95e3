import { Type } from '@sinclair/typebox'

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
