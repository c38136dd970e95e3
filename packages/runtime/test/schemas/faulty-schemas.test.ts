import { Type } from '@sinclair/typebox'
import { createRunEngine, expose } from '@svc/registry'
import { defineTool, Team, Workflow, type Schema } from '@svc/runtime'
import { type } from 'arktype'
import t from 'tap'
import * as z from 'zod'
import { makeAgent } from '../helpers/make-agent.ts'
import { runIn } from '../helpers/make-team.ts'

const plain = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
const asksFor = (args: unknown) => ({ toolCalls: [{ toolName: 'look', args }] })

t.test('an asynchronous check that rejects fails what it validates, and leaves no rejection', async (t) => {
  const unhandled: unknown[] = []
  const onRejection = (err: unknown) => void unhandled.push(err)
  process.on('unhandledRejection', onRejection)
  t.teardown(() => process.off('unhandledRejection', onRejection))
  let checks = 0
  const Down = z.object({
    city: z.string().refine(async (city) => {
      checks++
      if (city === 'Rome') return true
      throw new Error('the database is down')
    })
  })
  const look = defineTool({ name: 'look', description: 'L', input: Down, execute: () => 'seen' })
  const { agent } = makeAgent([asksFor({ city: 'Oslo' }), 'Done.'], { tools: [look] })
  t.match((await agent.run('x')).toolCalls, [{ error: { code: 'RUN_ERR_TOOL_FAILED' } }])
  await t.rejects(makeAgent('{"city":"Oslo"}', { output: Down }).agent.run('x'), { message: /database/ })
  const flow = new Workflow({
    name: 'flow',
    register: false,
    input: Down,
    steps: (steps) => steps.step('city', ({ input }) => input.city)
  })
  await t.rejects(flow.run({ city: 'Oslo' }), { message: /database/ })
  t.match((await runIn(flow, { city: 'Oslo' })).error, { code: 'RUN_ERR_FAILED' })
  await new Promise((resolve) => setTimeout(resolve, 20))
  t.strictSame(unhandled, [])
  checks = 0
  t.equal((await makeAgent('{"city":"Rome"}', { output: Down }).agent.run('x')).text, '{"city":"Rome"}')
  t.equal(checks, 1, 'a valid value is checked once')
})

t.test('a schema that gives no result is an error with a code', async (t) => {
  const given = (result: unknown) =>
    ({
      '~standard': {
        version: 1,
        vendor: 'x',
        validate: () => result,
        jsonSchema: { input: () => plain, output: () => plain }
      }
    }) as unknown as Schema
  const issueWith = (path: unknown) => ({ issues: [{ message: 'is bad', path }] })
  const bad = [
    undefined,
    null,
    5,
    'text',
    { issues: null },
    { issues: 'many' },
    { issues: [null] },
    { issues: [{}] },
    issueWith(null),
    issueWith('city'),
    issueWith([null]),
    issueWith([{}])
  ]
  const engine = createRunEngine()
  t.teardown(() => engine.close())
  const flowWith = (schemas: { input?: Schema; output?: Schema }) =>
    new Workflow<Schema>({
      name: 'flow',
      register: false,
      ...schemas,
      steps: (steps) => steps.step('a', () => 'a')
    })
  for (const result of [...bad, ...bad.map((each) => Promise.resolve(each))]) {
    const schema = given(result)
    const refused = { code: 'RUN_ERR_BAD_SCHEMA', statusCode: 500 }
    const look = defineTool({ name: 'look', description: 'L', input: schema, execute: () => 'seen' })
    const { toolCalls } = await makeAgent([asksFor({}), 'Done.'], { tools: [look] }).agent.run('x')
    t.match(toolCalls, [{ error: { code: 'RUN_ERR_BAD_SCHEMA' } }])
    await t.rejects(makeAgent('{}', { output: schema }).agent.run('x'), refused)
    await t.rejects(flowWith({ output: schema }).run('x'), refused)
    await t.rejects(flowWith({ input: schema }).run('x'), refused)
    if (!(result instanceof Promise)) await t.rejects(engine.start(flowWith({ input: schema }), 'x'), refused)
  }
  for (const none of [{ issues: [] }, Promise.resolve({ issues: [] })]) {
    const refused = { code: 'RUN_ERR_BAD_INPUT', message: 'input: is invalid' }
    await t.rejects(flowWith({ input: given(none) }).run('x'), refused)
    if (!(none instanceof Promise))
      await t.rejects(engine.start(flowWith({ input: given(none) }), 'x'), refused)
    await t.rejects(flowWith({ output: given(none) }).run('x'), { message: /the output: is invalid/ })
  }
  const long = given({ issues: [{ message: 'x'.repeat(100_000) }] })
  await t.rejects(flowWith({ input: long }).run('x'), { message: /^input: x{1000}…$/ })
})

t.test('a tool takes a recursive input, whose JSON Schema is a reference', async (t) => {
  const Node = z
    .object({
      name: z.string(),
      get children() {
        return z.array(Node).optional()
      }
    })
    .meta({ id: 'Node' })
  const module = Type.Module({
    Tree: Type.Object({ name: Type.String(), children: Type.Optional(Type.Array(Type.Ref('Tree'))) })
  })
  const recursive: Readonly<Record<string, Schema>> = {
    zod: Node,
    arktype: type({ name: 'string', 'children?': 'this[]' }),
    typebox: module.Import('Tree'),
    'json schema': {
      $ref: '#/definitions/Tree',
      definitions: {
        Tree: { $ref: '#/definitions/a~1b' },
        'a/b': {
          type: 'object',
          properties: {
            name: { type: 'string' },
            children: { type: 'array', items: { $ref: '#/definitions/Tree' } }
          },
          required: ['name']
        }
      }
    }
  }
  for (const [library, input] of Object.entries(recursive)) {
    const seen: unknown[] = []
    const look = defineTool({
      name: 'look',
      description: 'L',
      input,
      execute: (args) => void seen.push(args)
    })
    t.match(look.inputSchema, { type: 'object', properties: { name: { type: 'string' } } }, library)
    const tree = { name: 'a', children: [{ name: 'b' }] }
    const { agent } = makeAgent([asksFor({ name: 'a', children: [{ name: 5 }] }), asksFor(tree), 'Done.'], {
      tools: [look]
    })
    const { toolCalls } = await agent.run('x')
    t.match(toolCalls[0]?.error, { code: 'RUN_ERR_TOOL_BAD_ARGS', message: /children\/0\/name/ }, library)
    t.strictSame(seen, [tree], library)
  }
  for (const input of [
    { $ref: '#' },
    { $ref: '#/definitions/none', definitions: {} },
    { $ref: '#/definitions/a', definitions: { a: { $ref: '#/definitions/a' } } }
  ])
    t.throws(() => defineTool({ name: 'x', description: 'X', input, execute: () => 1 }), {
      code: 'RUN_ERR_BAD_TOOL'
    })
})

t.test('a leader calls a workflow whose input schema is a reference with its own input', async (t) => {
  const tree = Type.Object({ name: Type.String(), children: Type.Optional(Type.Array(Type.Ref('Tree'))) })
  const measure = new Workflow<Schema>({
    name: 'measure',
    register: false,
    input: Type.Module({ Tree: tree }).Import('Tree'),
    steps: (flow) => flow.step('end', ({ input }) => JSON.stringify(input))
  })
  const { model } = makeAgent([{ toolCalls: [{ toolName: 'measure', args: { name: 'a' } }] }, 'Done.'])
  const team = new Team({ name: 'team', register: false, mode: 'coordinate', model, members: [measure] })
  t.match((await team.run('x')).toolCalls, [{ result: '{"name":"a"}' }])
})

t.test('a start whose schema throws fails with a code, and keeps errors that clients see', async (t) => {
  const engine = createRunEngine()
  t.teardown(() => engine.close())
  const thrown = new TypeError('cannot read')
  const refusal = expose({ code: 'NOT_NOW', message: 'Not now', statusCode: 409 })
  for (const [err, expected] of [
    [thrown, { code: 'RUN_ERR_BAD_SCHEMA', statusCode: 500, cause: thrown }],
    [refusal, { code: 'NOT_NOW' }]
  ] as const) {
    const input = {
      '~standard': {
        version: 1,
        vendor: 'x',
        validate() {
          throw err
        },
        jsonSchema: { input: () => plain, output: () => plain }
      }
    } as unknown as Schema
    const flow = new Workflow<Schema>({
      name: 'flow',
      register: false,
      input,
      steps: (steps) => steps.step('a', () => 'a')
    })
    await t.rejects(engine.start(flow, {}), expected)
    await t.rejects(flow.run({}), expected)
  }
})

t.test('inherited names do not count as given', async (t) => {
  const input = { type: 'object', properties: { toString: {} }, required: ['toString'] }
  const look = defineTool({ name: 'look', description: 'L', input, execute: () => 'seen' })
  const { agent } = makeAgent([asksFor({}), asksFor({ toString: 1 }), 'Done.'], { tools: [look] })
  t.match((await agent.run('x')).toolCalls, [
    { error: { code: 'RUN_ERR_TOOL_BAD_ARGS', message: /toString: is required/ } },
    { result: 'seen' }
  ])
})
