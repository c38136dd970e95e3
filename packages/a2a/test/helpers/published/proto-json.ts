import { ScalarType, type DescEnum, type DescField, type DescMessage } from '@bufbuild/protobuf'
import * as fc from 'fast-check'

type Json = Record<string, unknown>

const DEEPEST = 4
const key = fc.string({ minLength: 1, maxLength: 8 }).filter((text) => text !== '__proto__')
const value = fc
  .jsonValue({ maxDepth: 3 })
  // JSON has no -0, and keys that reach a prototype are refused.
  .map((json) => JSON.parse(JSON.stringify(json).replaceAll('"__proto__"', '"proto"')) as unknown)

/** Values that differ from what a field has when it is unset. */
const SCALARS: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  string: fc.oneof(
    fc.string({ minLength: 1, unit: 'grapheme' }),
    fc.string({ minLength: 120, maxLength: 140 })
  ),
  bool: fc.constant(true),
  int32: fc.integer().filter((number) => number !== 0),
  bytes: fc.uint8Array({ minLength: 1, maxLength: 40 }).map((bytes) => Buffer.from(bytes).toString('base64')),
  Struct: fc.dictionary(key, value, { maxKeys: 3 }),
  Value: value,
  Timestamp: fc
    .date({ min: new Date(0), max: new Date('9999-01-01'), noInvalidDate: true })
    // The SDK writes whole seconds with a fraction.
    .filter((at) => at.getMilliseconds() !== 0)
    .map((at) => at.toISOString())
}

/** Random JSON of a message, with every field of its description and none that is unset. */
export function jsonOf(message: DescMessage, depth = 0): fc.Arbitrary<Json> {
  const fields = message.fields.filter((field) => depth < DEEPEST || typeOf(field) in SCALARS)
  const oneOf = fields.filter(isMember)
  const record = fc.record(
    Object.fromEntries(
      fields.filter((field) => !isMember(field)).map((field) => [field.jsonName, valueOf(field, depth)])
    ),
    { requiredKeys: [] }
  )
  if (oneOf.length === 0) return record as fc.Arbitrary<Json>
  const member = fc.oneof(
    ...oneOf.map((field) => valueOf(field, depth).map((each) => ({ [field.jsonName]: each })))
  )
  return fc.tuple(record, member).map(([one, other]) => ({ ...one, ...other }))
}

/** The name of a field's type: a scalar, an enum or a message. */
export function typeOf({ scalar, enum: names, message }: DescField): string {
  return scalar === undefined ? (message ?? names)!.name : ScalarType[scalar]!.toLowerCase()
}

/** True for a member of a oneof. */
export function isMember({ oneof }: DescField): boolean {
  return oneof !== undefined
}

/** The names of an enum, without the one for unset. */
export function namesOf({ values }: DescEnum): string[] {
  return values.slice(1).map(({ name }) => name)
}

function valueOf(field: DescField, depth: number): fc.Arbitrary<unknown> {
  const type = typeOf(field)
  const one =
    SCALARS[type] ??
    (field.message === undefined
      ? fc.constantFrom(...namesOf(field.enum!))
      : jsonOf(field.message, depth + 1))
  if (field.fieldKind === 'list') return fc.array(one, { minLength: 1, maxLength: 2 })
  if (field.fieldKind === 'map') return fc.dictionary(key, one, { minKeys: 1, maxKeys: 2 })
  if (!isMember(field) && !field.proto.proto3Optional) return one
  // With presence, an unset value is a value too.
  const unset: Json = { string: '', bool: false, int32: 0, bytes: '' }
  return type in unset ? fc.oneof(one, fc.constant(unset[type])) : one
}

/** The same without nulls in Structs and Values: the code of the SDK takes a Value that is null for one that is not set. */
export function withoutNulls(json: Json): Json {
  return JSON.parse(JSON.stringify(json, (_, each: unknown) => (each === null ? 0 : each))) as Json
}
