import { Type } from '@sinclair/typebox'
import { defineTool, type Tool } from '@svc/runtime'
import t from 'tap'
import * as v from 'valibot'
import * as z from 'zod'

const good = { name: 'x', description: 'X', input: Type.Object({}), execute: () => 1 }

t.test('a bad tool is an error that names what is bad', async (t) => {
  const bad: [object, RegExp][] = [
    [{ name: 'a b' }, /name/],
    [{ name: '' }, /name/],
    [{ description: undefined }, /description/],
    [{ input: Type.String() }, /input/],
    [{ input: undefined }, /input/],
    [{ input: { type: 'object', properties: { a: { type: 'nonsense' } } } }, /input of "x"/],
    [{ execute: 'run' }, /execute/],
    [{ approval: 'yes' }, /approval: expected a boolean or a function, got a string$/],
    [{ approvalTimeout: 0 }, /approvalTimeout/],
    [{ timeout: 0 }, /timeout/],
    [{ maxOutputBytes: -1 }, /maxOutputBytes/]
  ]
  for (const [options, message] of bad)
    t.throws(
      () => defineTool({ ...good, ...options }),
      { code: 'RUN_ERR_BAD_TOOL', message },
      JSON.stringify(options)
    )
})

t.test('the schemas have two names each, of which one is given', async (t) => {
  const { input: _, ...rest } = good
  const schema = Type.Object({ a: Type.Number() })
  const tool = defineTool({ ...rest, inputSchema: schema, outputSchema: Type.Number() })
  t.same(tool.inputSchema, defineTool({ ...rest, input: schema }).inputSchema)
  t.equal(faultOf(tool, { a: 'x' }), 'a: must be number')
  t.match(tool.validateOutput?.('x'), { fault: /must be number/ })
  t.throws(() => defineTool({ ...good, inputSchema: schema } as never), {
    code: 'RUN_ERR_BAD_TOOL',
    message: /"x" has both inputSchema and input, which is its earlier name; give inputSchema alone/
  })
  t.throws(
    () => defineTool({ ...rest, inputSchema: schema, outputSchema: schema, output: schema } as never),
    {
      code: 'RUN_ERR_BAD_TOOL',
      message: /"x" has both outputSchema and output/
    }
  )
  t.throws(() => defineTool(rest as never), { code: 'RUN_ERR_BAD_TOOL', message: /input/ })
})

t.test('an input that is no JSON Schema says what to give', async (t) => {
  const bad: [input: unknown, says: RegExp][] = [
    [
      v.object({ a: v.number() }),
      /the input of "x" has no JSON Schema: .*toStandardJsonSchema of @valibot\/to-json-schema/
    ],
    [z.object({ a: z.bigint() }), /the input of "x" has no JSON Schema: BigInt/],
    [{ type: 'object', _def: {} }, /Zod has one from 4\.2/],
    [{ jsonSchema: { type: 'object' } }, /the input of "x" has no keyword of JSON Schema; expected TypeBox/],
    [[], /the input of "x" is not a schema; expected TypeBox/],
    [() => true, /the input of "x" is not a schema/]
  ]
  for (const [input, message] of bad)
    t.throws(() => defineTool({ ...good, input: input as never }), { code: 'RUN_ERR_BAD_TOOL', message })
})

const faultOf = ({ validateInput }: Tool, args: unknown) => (validateInput(args) as { fault?: string }).fault

t.test(
  'a converted Zod schema, a plain JSON Schema and whatever is made by TypeBox are inputs',
  async (t) => {
    const properties = { a: { type: 'number' } }
    const inputs: unknown[] = [
      z.toJSONSchema(z.object({ a: z.number() })),
      { type: 'object', properties },
      Type.Unsafe({ type: 'object', properties }),
      Type.Object({ a: Type.Optional(Type.Number()) })
    ]
    for (const input of inputs) {
      const tool = defineTool({ ...good, input: input as never })
      t.equal(faultOf(tool, { a: 1 }), undefined)
      t.match(faultOf(tool, { a: 'x' }), /^a: must be number$|^a: Invalid input: expected number/)
    }
  }
)

t.test('arguments are typed by TypeBox, and are unknown values of any other schema', async (t) => {
  const { input: _, ...rest } = good
  const typed = defineTool({
    ...rest,
    input: Type.Object({ a: Type.Number() }),
    execute: ({ a }) => a.toFixed()
  })
  const loose = defineTool({
    ...rest,
    input: { type: 'object', properties: { a: { type: 'number' } } },
    // @ts-expect-error -- nobody knows what it is
    execute: ({ a }) => a.toFixed()
  })
  const converted = defineTool({
    ...rest,
    input: z.toJSONSchema(z.object({ a: z.number() })),
    execute: ({ a }) => a.toFixed()
  })
  for (const tool of [typed, loose, converted]) t.match(faultOf(tool, { a: 'x' }), /^a/)
})

t.test('a sandbox is one, or says which', async (t) => {
  for (const sandbox of [true, 'none', null, {}, { run: () => 1 }])
    t.throws(() => defineTool({ ...good, sandbox: sandbox as never }), {
      code: 'RUN_ERR_BAD_SANDBOX',
      message: "Bad sandbox: not 'default', 'required' or a sandbox"
    })
  for (const sandbox of ['default', 'required'] as const)
    t.equal(defineTool({ ...good, sandbox }).sandbox, sandbox)
})

t.test('its defaults', async (t) => {
  t.match(defineTool(good), {
    name: 'x',
    approval: undefined,
    approvalTimeout: undefined,
    timeout: 60_000,
    maxOutputBytes: 262_144
  })
})

t.test('arguments are checked as they are, with path and problem', async (t) => {
  const tool = defineTool({
    ...good,
    input: Type.Object(
      {
        count: Type.Integer({ minimum: 1 }),
        to: Type.Object({ mail: Type.String({ format: 'email' }) }),
        unit: Type.Union([Type.Literal('c'), Type.Literal('f')]),
        tags: Type.Optional(Type.Array(Type.String())),
        mode: Type.Optional(Type.Unsafe<'a' | 'b'>({ type: 'string', enum: ['a', 'b'] }))
      },
      { additionalProperties: false }
    )
  })
  const args = { count: 1, to: { mail: 'a@example.org' }, unit: 'c' }
  t.equal(faultOf(tool, args), undefined)
  t.equal(faultOf(tool, { ...args, count: '1' }), 'count: must be integer', 'nothing is coerced')
  t.equal(faultOf(tool, { ...args, count: 0 }), 'count: must be >= 1')
  t.equal(faultOf(tool, { ...args, to: { mail: 'nonsense' } }), 'to/mail: must match format "email"')
  t.equal(faultOf(tool, { ...args, tags: ['a', 5] }), 'tags/1: must be string')
  t.match(faultOf(tool, { ...args, unit: 'k' }), /^unit: must be one of c, f$/)
  t.equal(faultOf(tool, { ...args, mode: 'z' }), 'mode: must be one of a, b')
  t.match(faultOf(tool, { ...args, more: 1 }), /^more: is not known$/)
  t.match(faultOf(tool, {}), /^count: is required; to: is required/)
  for (const value of [null, 'x', 5, []]) t.equal(faultOf(tool, value), 'the arguments: must be object')
  t.strictSame(args, { count: 1, to: { mail: 'a@example.org' }, unit: 'c' }, 'nothing is changed')
})

t.test('two tools may use one schema with an $id, or a recursive one', async (t) => {
  const Node = Type.Recursive((This) => Type.Object({ children: Type.Array(This) }), { $id: 'Node' })
  for (const name of ['a', 'b']) {
    const tool = defineTool({ ...good, name, input: Node })
    t.equal(faultOf(tool, { children: [{ children: [] }] }), undefined)
    t.equal(faultOf(tool, { children: [{}] }), 'children/0/children: is required')
    const inner = defineTool({ ...good, input: Type.Object({ node: Node }) })
    t.equal(faultOf(inner, { node: { children: [{}] } }), 'node/children/0/children: is required')
  }
})
