import { Type, type TProperties, type TSchema } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'

/** An object that has these fields and no others. */
export const only = (fields: TProperties) => Type.Object(fields, { additionalProperties: false })
/** An object that has exactly one of these fields: a `oneof` of a proto. */
export const oneField = (fields: TProperties) =>
  Type.Union(Object.entries(fields).map(([name, field]) => only({ [name]: field })))
export const oneOf = (values: readonly string[]) => Type.Union(values.map((value) => Type.Literal(value)))
export const list = (item: TSchema) => Type.Optional(Type.Array(item))
export const mapOf = (value: TSchema) => Type.Record(Type.String(), value)

export const text = Type.String()
export const maybe = Type.Optional(text)
export const texts = list(text)
export const flag = Type.Boolean()
export const maybeFlag = Type.Optional(flag)
/** An `int32` that counts. */
export const count = Type.Integer({ minimum: 0, maximum: 2_147_483_647 })
export const anything = mapOf(Type.Unknown())
export const metadata = Type.Optional(anything)

/** What does not fit. */
export function faultsOf(schema: TSchema, value: unknown): string[] {
  return [...Value.Errors(schema, value)].map(({ path, message }) => `${path} ${message}`)
}
