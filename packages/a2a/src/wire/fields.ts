import { Type } from '@sinclair/typebox'

/** Schemas of fields that all versions share. */
export const id = Type.String({ minLength: 1, maxLength: 256 })
export const optional = {
  id: Type.Optional(id),
  text: Type.Optional(Type.String()),
  flag: Type.Optional(Type.Boolean()),
  metadata: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  historyLength: Type.Optional(Type.Integer({ minimum: 0, maximum: 2_147_483_647 })),
  strings: Type.Optional(Type.Array(Type.String())),
  modes: Type.Optional(Type.Array(Type.String({ maxLength: 255 }), { maxItems: 100 })),
  ids: Type.Optional(Type.Array(Type.String({ maxLength: 256 }), { maxItems: 100 }))
}
/** The id of a configuration, which is a segment of paths: the router takes those of up to 100 characters. */
export const configId = Type.Optional(Type.String({ minLength: 1, maxLength: 100 }))
/** The parts of a message; their content is checked by kind. */
export const parts = Type.Array(Type.Object({}), { minItems: 1, maxItems: 1000 })
/** A header value of a push. RFC 9110, section 5.5. */
export const headerText = Type.String({ maxLength: 4096, pattern: '^[\\t\\x20-\\x7E\\x80-\\xFF]*$' })
/** The name of an authentication scheme. RFC 9110, section 11.1. */
export const scheme = Type.String({ minLength: 1, maxLength: 64, pattern: "^[\\w!#$%&'*+.^`|~-]+$" })
/** The URL of a push. */
export const url = Type.String({ minLength: 1, maxLength: 2048 })

const BASE64 = /^[A-Za-z0-9+/_-]*={0,2}$/

/** Normalizes base64 of either alphabet, padded or not, to RFC 4648, section 4; undefined if it is invalid. */
export function toBase64(text: string): string | undefined {
  if (!BASE64.test(text)) return undefined
  const digits = text.replaceAll('=', '').replaceAll('-', '+').replaceAll('_', '/')
  const missing = -digits.length & 3
  return missing === 3 ? undefined : digits + '='.repeat(missing)
}
