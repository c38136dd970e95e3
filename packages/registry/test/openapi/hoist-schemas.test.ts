import t from 'tap'
import { hoistSchemas, type Components } from '../../src/openapi/hoist-schemas.ts'

const literal = (value: string) => ({ type: 'string', enum: [value] })

t.test('titled schemas become components, wherever they are', async (t) => {
  const components: Components = new Map()
  const inner = { title: 'Inner', type: 'object', properties: { title: { type: 'string' } } }
  const outer = { title: 'Outer', type: 'array', items: inner, example: [{ title: 'Data' }] }
  const given = {
    content: { a: { schema: outer }, b: { schema: inner }, c: { schema: { title: 'no name' } } }
  }
  const before = structuredClone(given)
  t.strictSame(hoistSchemas(given, components), {
    content: {
      a: { schema: { $ref: '#/components/schemas/Outer' } },
      b: { schema: { $ref: '#/components/schemas/Inner' } },
      c: { schema: { title: 'no name' } }
    }
  })
  t.strictSame(Object.fromEntries(components), {
    Inner: { type: 'object', properties: { title: { type: 'string' } } },
    Outer: { type: 'array', items: { $ref: '#/components/schemas/Inner' }, example: [{ title: 'Data' }] }
  })
  t.strictSame(given, before, 'what was given is as it was')
})

t.test('two schemas with one title must be equal', async (t) => {
  const schemas = [
    { title: 'One', type: 'string' },
    { title: 'One', type: 'number' }
  ]
  t.throws(() => hoistSchemas(schemas, new Map()), { message: /"One" differ/ })
})

t.test('unions of literals become enums, other unions stay', async (t) => {
  const hoist = (schema: object) => hoistSchemas(schema, new Map())
  t.strictSame(hoist({ anyOf: [literal('a'), literal('b')], description: 'x' }), {
    type: 'string',
    enum: ['a', 'b'],
    description: 'x'
  })
  for (const anyOf of [
    [literal('a'), { type: 'number' }],
    [literal('a'), { ...literal('b'), description: 'B' }],
    [literal('a'), { type: 'number', enum: [1] }]
  ])
    t.strictSame(hoist({ anyOf }), { anyOf })
})

t.test('a discriminator gets its mapping', async (t) => {
  const one = (name: string) => ({ title: name, properties: { kind: literal(name.toLowerCase()) } })
  const schema = { oneOf: [one('Cat'), one('Dog')], discriminator: { propertyName: 'kind' } }
  t.strictSame(hoistSchemas(schema, new Map()), {
    oneOf: [{ $ref: '#/components/schemas/Cat' }, { $ref: '#/components/schemas/Dog' }],
    discriminator: {
      propertyName: 'kind',
      mapping: { cat: '#/components/schemas/Cat', dog: '#/components/schemas/Dog' }
    }
  })
})
