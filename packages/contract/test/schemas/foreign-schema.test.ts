import { compileForeignSchema } from '../../src/schemas/foreign-schema.ts'
import t from 'tap'

const faultOf = (schema: unknown, value: unknown) => compileForeignSchema(schema).check(value)

/** Schemas, with valid values, and invalid values with their errors. */
const CASES: [schema: unknown, good: unknown[], bad: [value: unknown, fault: string | RegExp][]][] = [
  [true, [1, null, {}], []],
  [false, [], [[1, 'it: must NOT be there']]],
  [
    { type: 'integer' },
    [1, 1.0],
    [
      [1.5, 'it: must be integer'],
      ['1', 'it: must be integer']
    ]
  ],
  [{ type: ['string', 'null'] }, ['a', null], [[1, 'it: must be string,null']]],
  [{ type: 'string', nullable: true }, ['a', null], [[1, 'it: must be string']]],
  [
    { enum: ['a', { b: 1, c: [2] }] },
    ['a', { c: [2], b: 1 }],
    [['b', /it: must be one of a, \{"b":1,"c":\[2\]\}$/]]
  ],
  [{ const: [1] }, [[1]], [[[2], 'it: must be equal to constant: [1]']]],
  [
    { minimum: 1, exclusiveMaximum: 3 },
    [1, 2.9, 'x'],
    [
      [0, 'it: must be >= 1'],
      [3, 'it: must be < 3']
    ]
  ],
  [{ multipleOf: 0.1 }, [0.3, 1.1, -2], [[0.35, 'it: must be multiple of 0.1']]],
  [
    { minLength: 2, maxLength: 3 },
    ['ab', '😀😀😀', 5],
    [
      ['a', /fewer than 2/],
      ['😀', /fewer than 2/],
      ['abcd', /more than 3/]
    ]
  ],
  [{ pattern: '^a+$' }, ['aa', 1], [['b', 'it: must match pattern "^a+$"']]],
  [
    { minItems: 1, maxItems: 2, uniqueItems: true },
    [[1], [1, '1'], 'x'],
    [
      [[], /fewer than 1 items/],
      [[1, 2, 3], /more than 2/],
      [
        [
          { a: 1, b: 2 },
          { b: 2, a: 1 }
        ],
        /duplicate/
      ]
    ]
  ],
  [{ items: { type: 'number' } }, [[1], {}], [[[1, 'x'], '1: must be number']]],
  [
    { prefixItems: [{ type: 'number' }], items: false },
    [[1], []],
    [
      [['x'], '0: must be number'],
      [[1, 2], '1: must NOT be there']
    ]
  ],
  [
    { items: [{ type: 'number' }], additionalItems: { type: 'string' } },
    [[1, 'a']],
    [[[1, 2], '1: must be string']]
  ],
  [
    { contains: { type: 'number' }, maxContains: 2 },
    [[1, 'a']],
    [
      [['a'], /must contain 1 to 2/],
      [[1, 2, 3], /must contain/]
    ]
  ],
  [{ contains: { type: 'number' }, minContains: 0 }, [['a']], []],
  [{ required: ['a', 'toString'] }, [{ a: 1, toString: 1 }, 5], [[{ a: 1 }, 'toString: is required']]],
  [
    { properties: { a: { properties: { b: { type: 'number' } } } } },
    [{ a: { b: 1 } }, { b: 'x' }, []],
    [[{ a: { b: 'x' } }, 'a/b: must be number']]
  ],
  [
    { properties: { a: true }, patternProperties: { '^x': { type: 'number' } }, additionalProperties: false },
    [{ a: 1, x1: 1 }],
    [
      [{ x: 'y' }, 'x: must be number'],
      [{ b: 1 }, 'b: is not known']
    ]
  ],
  [{ additionalProperties: { type: 'number' } }, [{ a: 1 }], [[{ a: 'x' }, 'a: must be number']]],
  [
    { propertyNames: { maxLength: 1 } },
    [{ a: 1 }],
    [[{ ab: 1 }, 'it: must NOT have the property name "ab"']]
  ],
  [
    { minProperties: 1, maxProperties: 1 },
    [{ a: 1 }],
    [
      [{}, /fewer than 1/],
      [{ a: 1, b: 1 }, /more than 1/]
    ]
  ],
  [
    { dependentRequired: { a: ['b'] }, dependentSchemas: { c: { required: ['d'] } } },
    [{ a: 1, b: 1 }, {}],
    [
      [{ a: 1 }, 'b: is required'],
      [{ c: 1 }, 'd: is required']
    ]
  ],
  [
    { dependencies: { a: ['b'], c: { required: ['d'] } } },
    [{ a: 1, b: 1 }],
    [
      [{ a: 1 }, 'b: is required'],
      [{ c: 1 }, 'd: is required']
    ]
  ],
  [{ allOf: [{ minimum: 1 }, { maximum: 2 }] }, [1], [[3, 'it: must be <= 2']]],
  [
    { anyOf: [{ type: 'string' }, { type: 'null' }] },
    ['a', null],
    [[1, 'it: must be string; it: must be null; it: must match a schema in anyOf']]
  ],
  [{ oneOf: [{ minimum: 1 }, { maximum: 2 }] }, [0, 3], [[1, 'it: must match exactly one schema in oneOf']]],
  [{ not: { type: 'string' } }, [1], [['a', 'it: must NOT be valid']]],
  [
    { if: { type: 'string' }, then: { minLength: 1 }, else: { minimum: 1 } },
    ['a', 1],
    [
      ['', /fewer than 1/],
      [0, 'it: must be >= 1']
    ]
  ],
  [{ $defs: { 'a/b%': { type: 'number' } }, $ref: '#/$defs/a~1b%25' }, [1], [['a', 'it: must be number']]],
  [
    { type: 'object', properties: { next: { $ref: '#' } }, additionalProperties: false },
    [{ next: { next: {} } }],
    [[{ next: { x: 1 } }, 'next/x: is not known']]
  ]
]

for (const [schema, good, bad] of CASES) {
  t.test(JSON.stringify(schema), async (t) => {
    const { check, leftOut } = compileForeignSchema(schema)
    t.strictSame(leftOut, [])
    for (const value of good) t.equal(check(value), undefined, JSON.stringify(value))
    for (const [value, fault] of bad) t.match(check(value), fault, JSON.stringify(value))
  })
}

t.test('formats', async (t) => {
  const formats: Record<string, [good: string[], bad: string[]]> = {
    date: [['2024-02-29'], ['2023-02-29', '2024-2-9', '2024-04-31', 'x']],
    time: [
      ['10:20:30Z', '23:59:60.5+01:00'],
      ['10:20', '24:00:00Z']
    ],
    'date-time': [
      ['2024-02-29T10:20:30Z', '2024-02-29t10:20:30.5-02:00'],
      ['2024-02-29', '2024-02-30T10:20:30Z']
    ],
    email: [['a@b.c'], ['a', '@b', 'a b@c']],
    hostname: [
      ['a.example', 'a-b'],
      ['-a', 'a..b', `${'a'.repeat(64)}.b`]
    ],
    ipv4: [['1.2.3.4'], ['1.2.3', '256.1.1.1']],
    ipv6: [['::1'], ['1.2.3.4', ':::']],
    uri: [
      ['https://a.example/b', 'urn:x:y'],
      ['/a', 'a']
    ],
    uuid: [['c56a4180-65aa-42ec-a945-5fd21dec0538'], ['c56a4180']]
  }
  for (const [format, [good, bad]] of Object.entries(formats)) {
    for (const value of good) t.equal(faultOf({ format }, value), undefined, `${format} ${value}`)
    for (const value of bad) t.equal(faultOf({ format }, value), `it: must match format "${format}"`, value)
  }
  t.equal(faultOf({ format: 'regex' }, '('), undefined, 'any other is a hint')
})

t.test('malformed and unsupported keywords are left out, the rest applies', async (t) => {
  const schema = {
    type: 'any',
    minimum: '1',
    required: true,
    properties: { a: 5, b: { type: 'number', pattern: '(?!x)' } },
    allOf: {},
    $ref: 'https://elsewhere.example/schema',
    $dynamicRef: '#x',
    unevaluatedProperties: false
  }
  const { check, leftOut } = compileForeignSchema(schema)
  t.match(check({ b: 'x' }), 'b: must be number')
  t.equal(check({ c: 1 }), undefined)
  t.match(leftOut.toSorted(), [
    '$dynamicRef: it is not supported',
    '$ref: it has no target within the schema',
    'allOf: it is malformed',
    'minimum: it is malformed',
    'properties/a: it is no schema',
    /^properties\/b\/pattern: /,
    'required: it is malformed',
    'type: it is malformed',
    'unevaluatedProperties: it is not supported'
  ])
})

t.test('left-out keywords never refuse a valid value', async (t) => {
  const pattern = '(?=x)'
  for (const schema of [
    { not: { pattern } },
    { oneOf: [{ pattern }, { type: 'string' }] },
    { if: { pattern }, then: { minLength: 5 } },
    { not: { $ref: '#/$defs/a' }, $defs: { a: { pattern } } }
  ])
    t.equal(faultOf(schema, 'x'), undefined, JSON.stringify(schema))
  t.equal(faultOf({ contains: { pattern }, maxContains: 1 }, ['x', 'x']), undefined)
  t.equal(
    faultOf({ patternProperties: { [pattern]: true }, additionalProperties: false }, { x: 1 }),
    undefined
  )
  t.equal(faultOf({ properties: [], additionalProperties: false }, { x: 1 }), undefined)
})

t.test('patterns behave as in JavaScript, as far as RE2 supports them', async (t) => {
  const known: [pattern: string, text: string][] = [
    [String.raw`^\@\_\/$`, '@_/'],
    [String.raw`^\u0041\x42\cA$`, 'AB\u0001'],
    ['^\\p{L}$', 'ж'],
    ['^(?<year>\\d{4})$', '2024'],
    ['^[^]$', '\n'],
    ['^.$', '😀']
  ]
  for (const [pattern, text] of known) {
    const { check, leftOut } = compileForeignSchema({ pattern })
    t.strictSame(leftOut, [], pattern)
    t.equal(check(text), undefined, pattern)
    t.ok(check(`${text}${text}`), pattern)
  }
  const unknown = [
    '(?=a)',
    '(?<!a)b',
    String.raw`(a)\1`,
    '[',
    '(',
    'a{2,1}',
    '^.{1,1001}$',
    'a'.repeat(1_001),
    '(a{100}){100}'
  ]
  for (const pattern of unknown)
    t.equal(compileForeignSchema({ pattern }).leftOut.length, 1, pattern.slice(0, 20))
})

t.test('a check terminates for any schema and value', async (t) => {
  const deep = (depth: number): object => (depth === 0 ? {} : { x: deep(depth - 1) })
  const again = { properties: { x: { $ref: '#/$defs/a' } }, required: ['q'] }
  const many = <T>(count: number, make: (index: number) => T) =>
    Array.from({ length: count }, (_, index) => make(index))
  const hard: [schema: object, value: unknown][] = [
    [{ $ref: '#' }, 1],
    [{ $ref: '#/$defs/a', $defs: { a: { $ref: '#/$defs/b' }, b: { $ref: '#/$defs/a' } } }, 1],
    [{ $ref: '#/$defs/a', $defs: { a: { anyOf: [again, { ...again }] } } }, deep(100)],
    [{ $ref: '#/$defs/a', $defs: { a: { properties: { x: { $ref: '#/$defs/a' } } } } }, deep(2_000)],
    [{ pattern: '(a|b)*a(a|b){200}$' }, 'ab'.repeat(50_000)],
    [
      { propertyNames: { pattern: '(a|b)*a(a|b){200}$' } },
      Object.fromEntries(many(2_000, (index) => [`${'ab'.repeat(50)}${index}`, 1] as const))
    ],
    [{ uniqueItems: true }, many(300_000, (index) => ({ index }))],
    [{ allOf: many(4_000, (index) => ({ maxLength: 30_000 + index })) }, '😀'.repeat(20_000)],
    [
      { allOf: many(4_000, (index) => ({ additionalProperties: { minimum: index } })) },
      Object.fromEntries(many(5_000, (index) => [index, 1] as const))
    ],
    [
      { allOf: many(4_000, (index) => ({ format: 'email', title: String(index) })) },
      `x@${'x'.repeat(100_000)} `
    ]
  ]
  for (const [schema, value] of hard) {
    const said = JSON.stringify(schema).slice(0, 60)
    t.equal(faultOf(schema, value), 'checking it takes too long: send less, or shorter texts', said)
    t.equal(compileForeignSchema(schema, { lenient: true }).check(value), undefined, said)
  }
  const evil = compileForeignSchema({ pattern: '^([a-z0-9]+-?)+$' })
  t.match(evil.check(`${'a'.repeat(50_000)}!`), /must match pattern/)
  t.equal(evil.check('a-1'.repeat(10_000)), undefined)
})

t.test('a schema is bounded', async (t) => {
  const nested = JSON.parse(`${'{"items":'.repeat(1_000)}{}${'}'.repeat(1_000)}`) as object
  t.match(compileForeignSchema(nested).leftOut, [/nested too deep/])
  t.match(compileForeignSchema({ enum: ['x'.repeat(300_000)] }).leftOut, [/more than 262144 characters/])
  const chain = Array.from(
    { length: 4_500 },
    (_, at) => [`d${at}`, { items: { $ref: `#/$defs/d${at + 1}` } }] as const
  )
  const long = compileForeignSchema({ $ref: '#/$defs/d0', $defs: Object.fromEntries(chain) })
  t.match(long.leftOut, [/lead too deep/])
  t.equal(long.check([[1]]), undefined)
  const wide = compileForeignSchema({ allOf: Array.from({ length: 6_000 }, (_, minimum) => ({ minimum })) })
  t.match(wide.leftOut[0], /more than 5000 schemas/)
  t.equal(wide.leftOut.length, 20)
  const patterns = Array.from({ length: 100 }, (_, index) => ({
    pattern: `^[\\p{L}]{${index + 1},${index + 100}}$`
  }))
  t.match(compileForeignSchema({ anyOf: patterns }).leftOut, [/too many patterns/])
  t.match(compileForeignSchema(JSON.parse('{"properties":{"__proto__":{"type":"string"}}}')).leftOut, [
    /forbidden key/
  ])
  t.strictSame(
    compileForeignSchema({ $async: true, type: 'string' }, { subject: 'x' }).check(1),
    'x: must be string'
  )
})
