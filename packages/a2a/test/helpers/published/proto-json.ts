import * as fc from 'fast-check'
import type { ProtoField, ProtoTable } from '../../../src/wire/proto-table.ts'

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
    .map((at) => at.toISOString())
}

/** Random JSON of a message, with every field of its table and none that is unset. */
export function jsonOf(table: ProtoTable, message: string, depth = 0): fc.Arbitrary<Json> {
  const fields = Object.entries(table.messages[message]!)
  const plain = fields.filter(([, [, type]]) => !type.endsWith('|'))
  const oneOf = fields.filter(([, [, type]]) => type.endsWith('|') && (depth < DEEPEST || isScalar(type)))
  const rest = plain.filter(([, [, type]]) => depth < DEEPEST || isScalar(type))
  const record = fc.record(
    Object.fromEntries(rest.map(([name, field]) => [name, valueOf(table, field, depth)])),
    { requiredKeys: [] }
  )
  if (oneOf.length === 0) return record as fc.Arbitrary<Json>
  const member = fc.oneof(
    ...oneOf.map(([name, field]) => valueOf(table, field, depth).map((each) => ({ [name]: each })))
  )
  return fc.tuple(record, member).map(([one, other]) => ({ ...one, ...other }))
}

function valueOf(table: ProtoTable, [, marked]: ProtoField, depth: number): fc.Arbitrary<unknown> {
  const type = marked.replace(/[^\w]+$/, '')
  const names = table.enums[type]
  const one =
    SCALARS[type] ??
    (names === undefined ? jsonOf(table, type, depth + 1) : fc.constantFrom(...names.slice(1)))
  if (marked.endsWith('[]')) return fc.array(one, { minLength: 1, maxLength: 2 })
  if (marked.endsWith('{}')) return fc.dictionary(key, one, { minKeys: 1, maxKeys: 2 })
  if (!/[?|]$/.test(marked)) return one
  // With presence, an unset value is a value too.
  const unset: Json = { string: '', bool: false, int32: 0, bytes: '' }
  return type in unset ? fc.oneof(one, fc.constant(unset[type])) : one
}

function isScalar(marked: string): boolean {
  return marked.replace(/[^\w]+$/, '') in SCALARS
}

/** The same without nulls in Structs and Values: the code of the SDK takes a Value that is null for one that is not set. */
export function withoutNulls(json: Json): Json {
  return JSON.parse(JSON.stringify(json, (_, each: unknown) => (each === null ? 0 : each))) as Json
}
