import { Type } from '@sinclair/typebox'
import t from 'tap'
import { SchemaObjects } from '../../src/openapi/schema-objects.ts'

const literal = (value: string) => ({ type: 'string', const: value })
const convert = (schema: unknown) => new SchemaObjects().convert(schema)

t.test('titled schemas become components, wherever they are', async (t) => {
  const schemas = new SchemaObjects({ Inner: { title: 'x' } })
  const inner = { title: 'Inner', type: 'object', properties: { title: { type: 'string' } } }
  const outer = { title: 'Outer', type: 'array', items: inner, examples: [[{ title: 'Data' }]] }
  const before = structuredClone(outer)
  t.strictSame(schemas.convert({ type: 'object', properties: { example: outer, headers: inner } }), {
    type: 'object',
    properties: {
      example: { $ref: '#/components/schemas/Outer' },
      headers: { $ref: '#/components/schemas/Inner' }
    }
  })
  t.strictSame(schemas.convert({ title: 'no name' }), { title: 'no name' })
  t.strictSame(schemas.components, {
    Inner: { type: 'object', properties: { title: { type: 'string' } }, example: { title: 'x' } },
    Outer: { type: 'array', items: { $ref: '#/components/schemas/Inner' }, example: [{ title: 'Data' }] }
  })
  t.strictSame(outer, before, 'what was given is as it was')
  t.throws(() => schemas.convert({ title: 'Inner', type: 'number' }), { message: /"Inner" differ/ })
})

t.test('constants of one type become an enum, other unions stay', async (t) => {
  t.strictSame(convert(literal('a')), { type: 'string', enum: ['a'] })
  t.strictSame(convert({ const: 1 }), { type: 'number', enum: [1] })
  t.strictSame(convert({ anyOf: [literal('a'), literal('b')], description: 'x' }), {
    type: 'string',
    enum: ['a', 'b'],
    description: 'x'
  })
  const [a, b] = [
    { type: 'string', enum: ['a'] },
    { type: 'string', enum: ['b'], description: 'B' }
  ]
  t.strictSame(convert({ anyOf: [literal('a'), { type: 'number' }] }), { anyOf: [a, { type: 'number' }] })
  t.strictSame(convert({ anyOf: [literal('a'), { ...literal('b'), description: 'B' }] }), { anyOf: [a, b] })
})

t.test('null is `nullable` beside a type', async (t) => {
  const none = { type: 'string', nullable: true, enum: [null] }
  t.strictSame(convert(Type.Null()), none)
  t.strictSame(convert({ const: null }), none)
  t.strictSame(convert({ type: ['string', 'null'], maxLength: 3 }), {
    type: 'string',
    maxLength: 3,
    nullable: true
  })
  t.strictSame(convert(Type.Union([literal('a'), literal('b'), { type: 'null' }] as never)), {
    type: 'string',
    enum: ['a', 'b', null],
    nullable: true
  })
  const One = Type.Object({}, { title: 'One' })
  t.strictSame(convert(Type.Union([One, Type.Null()])), {
    anyOf: [{ $ref: '#/components/schemas/One' }, none]
  })
  t.strictSame(convert(Type.Union([One, Type.String(), Type.Null()])), {
    anyOf: [{ $ref: '#/components/schemas/One' }, { type: 'string', nullable: true }]
  })
  t.strictSame(convert(Type.Union([Type.Unknown(), Type.Null()])), { anyOf: [{}, none] })
})

t.test('keywords that OpenAPI 3.0 lacks', async (t) => {
  t.strictSame(convert(Type.Record(Type.String(), Type.Integer())), {
    type: 'object',
    additionalProperties: { type: 'integer' }
  })
  const both = { patternProperties: { '^a': { type: 'string' } }, additionalProperties: { type: 'number' } }
  t.strictSame(convert(both), { additionalProperties: { anyOf: [{ type: 'string' }, { type: 'number' }] } })
  t.strictSame(convert({ type: 'integer', exclusiveMinimum: 0 }), {
    type: 'integer',
    minimum: 0,
    exclusiveMinimum: true
  })
  t.strictSame(convert(Type.Tuple([Type.String(), Type.Null()])), {
    type: 'array',
    minItems: 2,
    maxItems: 2,
    items: { anyOf: [{ type: 'string' }, { type: 'string', nullable: true, enum: [null] }] }
  })
  t.strictSame(convert({ type: 'array' }), { type: 'array', items: {} })
  const others = { $id: 'x', $schema: 'y', required: [], if: {}, contains: {}, contentEncoding: 'base64' }
  t.strictSame(convert(others), { format: 'byte' })
  t.strictSame([convert(true), convert(false)], [{}, { not: {} }])
})

t.test('a discriminator gets its mapping', async (t) => {
  const one = (name: string) => ({ title: name, properties: { kind: literal(name.toLowerCase()) } })
  t.strictSame(convert({ oneOf: [one('Cat'), one('Dog')], discriminator: { propertyName: 'kind' } }), {
    discriminator: {
      propertyName: 'kind',
      mapping: { cat: '#/components/schemas/Cat', dog: '#/components/schemas/Dog' }
    },
    oneOf: [{ $ref: '#/components/schemas/Cat' }, { $ref: '#/components/schemas/Dog' }]
  })
})
