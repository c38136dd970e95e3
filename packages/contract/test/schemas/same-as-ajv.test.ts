import { compileForeignSchema } from '../../src/schemas/foreign-schema.ts'
import { Ajv2020 } from 'ajv/dist/2020.js'
import * as fc from 'fast-check'
import t from 'tap'

const names = fc.constantFrom('a', 'b', 'c')
const texts = fc.constantFrom('', 'a', 'ab', 'abc', '😀')
const counts = fc.nat({ max: 3 })
const numbers = fc.constantFrom(-1, 0, 0.5, 1, 2, 3)
const { value } = fc.letrec((again) => ({
  value: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    fc.oneof(fc.constant(null), fc.boolean(), numbers, texts),
    fc.array(again('value'), { maxLength: 4 }),
    fc.dictionary(names, again('value'), { maxKeys: 3, noNullPrototype: true })
  )
}))

const { schema } = fc.letrec((again) => {
  const schemas = fc.array(again('schema'), { minLength: 1, maxLength: 3 })
  const byName = fc.dictionary(names, again('schema'), { maxKeys: 3, noNullPrototype: true })
  const needs = fc.uniqueArray(names, { maxLength: 2 })
  const keywords: Record<string, fc.Arbitrary<unknown>> = {
    type: fc.constantFrom('string', 'number', 'integer', 'boolean', 'null', 'array', 'object', [
      'string',
      'null'
    ]),
    enum: fc.array(value, { minLength: 1, maxLength: 3 }),
    const: value,
    minimum: numbers,
    maximum: numbers,
    exclusiveMinimum: numbers,
    exclusiveMaximum: numbers,
    multipleOf: fc.constantFrom(0.5, 1, 2),
    minLength: counts,
    maxLength: counts,
    pattern: fc.constantFrom('^a', 'b$', '^(a|b)+$', '.'),
    minItems: counts,
    maxItems: counts,
    uniqueItems: fc.boolean(),
    items: again('schema'),
    prefixItems: schemas,
    contains: again('schema'),
    minContains: counts,
    maxContains: counts,
    required: needs,
    minProperties: counts,
    maxProperties: counts,
    properties: byName,
    patternProperties: fc.dictionary(fc.constantFrom('^a', '[bc]'), again('schema'), {
      maxKeys: 2,
      noNullPrototype: true
    }),
    additionalProperties: again('schema'),
    propertyNames: again('schema'),
    dependentRequired: fc.dictionary(names, needs, { maxKeys: 2, noNullPrototype: true }),
    dependentSchemas: byName,
    allOf: schemas,
    anyOf: schemas,
    oneOf: schemas,
    not: again('schema'),
    if: again('schema'),
    then: again('schema'),
    else: again('schema'),
    $ref: fc.constantFrom('#/$defs/one', '#/$defs/two')
  }
  return {
    schema: fc.oneof(
      { maxDepth: 3 },
      fc.boolean(),
      fc.record(keywords, { requiredKeys: [], noNullPrototype: true }).map((all) => {
        // A few keywords at a time, else hardly any value would match.
        const kept = Object.entries(all).filter((_, index) => index % 9 === Object.keys(all).length % 9)
        return Object.fromEntries(kept)
      })
    )
  }
})

/**
 * The same schema, for Ajv: its code for `contains` without `maxContains` takes an empty array for one that fits
 * when the array before it fitted.
 */
function forAjv(schema: object): object {
  return JSON.parse(JSON.stringify(schema), (_, node) =>
    node?.contains === undefined ? node : { maxContains: Number.MAX_SAFE_INTEGER, ...node }
  )
}

t.test('it accepts the same values as Ajv', async (t) => {
  const documents = fc.record({ schema, one: schema, two: schema })
  let fitting = 0
  fc.assert(
    fc.property(
      documents,
      fc.array(value, { minLength: 5, maxLength: 10 }),
      ({ schema, one, two }, values) => {
        const whole = { allOf: [schema], $defs: { one, two } }
        const { check, leftOut } = compileForeignSchema(whole)
        if (leftOut.length > 0) throw new Error(leftOut.join())
        const isValid = new Ajv2020({ strict: false, logger: false }).compile(forAjv(whole))
        for (const each of values) {
          let expected: boolean
          try {
            expected = isValid(each)
          } catch {
            // An infinitely recursive schema.
            continue
          }
          const fault = check(each)
          if ((fault === undefined) !== expected) throw new Error(`${JSON.stringify(each)}: ${fault}`)
          if (expected) fitting++
        }
      }
    ),
    { numRuns: 150, endOnFailure: true }
  )
  t.ok(fitting > 100, 'many values fit')
})
