import { toStandardJsonSchema } from '@valibot/to-json-schema'
import { Type } from '@sinclair/typebox'
import { createRunEngine } from '@svc/registry'
import { defineTool, Team, Workflow, type Schema } from '@svc/runtime'
import { type } from 'arktype'
import t from 'tap'
import * as v from 'valibot'
import * as z from 'zod'
import { collect, makeAgent } from '../helpers/make-agent.ts'
import { runIn } from '../helpers/make-team.ts'
import { crashIn, goOn } from '../helpers/make-workflow.ts'

const plain = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
/** The same object, by each library. */
const CITIES: Readonly<Record<string, Schema>> = {
  typebox: Type.Object({ city: Type.String() }),
  'json schema': plain,
  zod: z.object({ city: z.string() }),
  valibot: toStandardJsonSchema(v.object({ city: v.string() })),
  arktype: type({ city: 'string' })
}
const asksFor = (args: unknown) => ({ toolCalls: [{ toolName: 'look', args }] })

for (const [library, input] of Object.entries(CITIES)) {
  t.test(`${library}: a tool has its JSON Schema, and valid arguments only`, async (t) => {
    const seen: unknown[] = []
    const look = defineTool({
      name: 'look',
      description: 'Looks',
      input,
      execute: (args) => void seen.push(args)
    })
    t.match(look.inputSchema, plain)
    const { agent, model } = makeAgent([asksFor({ city: 5 }), asksFor({ city: 'Rome' }), 'Done.'], {
      tools: [look]
    })
    const { toolCalls } = await agent.run('Look')
    t.match(model.calls[0]?.tools, [{ name: 'look', inputSchema: plain }])
    t.match(toolCalls[0]?.error, { code: 'RUN_ERR_TOOL_BAD_ARGS', message: /^Bad arguments: city/ })
    t.strictSame(seen, [{ city: 'Rome' }])
  })

  t.test(`${library}: an answer is corrected once, and is the structured value`, async (t) => {
    const { agent, model } = makeAgent(['{"city":5}', '{"city":"Rome"}'], { output: input })
    t.strictSame((await agent.run('Where?')).structured, { city: 'Rome' })
    t.match(model.calls[0]?.responseFormat, { schema: { ...plain, additionalProperties: false } })
    t.match(JSON.stringify(model.calls[1]?.prompt.at(-1)), /cannot be used: city/)
    t.match(agent.describe().output, plain)
  })

  t.test(`${library}: a workflow takes valid inputs only, also over the engine`, async (t) => {
    const flow = new Workflow<Schema>({
      name: 'flow',
      register: false,
      input,
      steps: (steps) => steps.step('city', ({ input: given }) => (given as unknown as { city: string }).city)
    })
    t.match((await runIn(flow, { city: 'Rome' })).result, { text: 'Rome' })
    t.match(flow.describe().input, plain)
    t.match((await collect(flow.stream({ city: 5 } as never))).error, { code: 'RUN_ERR_BAD_INPUT' })
    const engine = createRunEngine()
    t.teardown(() => engine.close())
    await t.rejects(engine.start(flow, { city: 5 }), {
      code: 'RUN_ERR_BAD_INPUT',
      message: /input\/city/,
      errors: [{ path: 'input/city' }]
    })
  })

  t.test(`${library}: a step and a workflow check their outputs`, async (t) => {
    const { agent } = makeAgent(['{"city":"Rome"}', '{"town":"Rome"}'], { output: {} })
    const flow = new Workflow({
      name: 'flow',
      register: false,
      steps: (steps) => steps.step('city', agent, { output: input })
    })
    t.strictSame((await flow.run('Where?')).structured, { city: 'Rome' })
    await t.rejects(flow.run('Where?'), {
      code: 'RUN_ERR_STEP_BAD_OUTPUT',
      message: /Bad output of the step "city": .*city/
    })
    const last = new Workflow<Schema>({
      name: 'last',
      register: false,
      output: input,
      steps: (steps) => steps.step('end', ({ input: given }) => ({ city: given === 'Rome' ? given : 5 }))
    })
    t.strictSame((await last.run('Rome')).structured, { city: 'Rome' })
    t.match(last.describe().output, plain)
    await t.rejects(last.run('Oslo'), {
      code: 'RUN_ERR_WORKFLOW_BAD_OUTPUT',
      statusCode: 500,
      message: /Bad output of the workflow: city/
    })
  })
}

const Length = z.object({ word: z.string().transform((word) => word.length) })

t.test(
  'transformed values reach execute, approval and results; the log has the arguments as given',
  async (t) => {
    const seen: unknown[] = []
    const measure = defineTool({
      name: 'look',
      description: 'Measures',
      input: Length,
      output: z.object({ count: z.number().transform(String) }),
      approval: ({ word }) => (seen.push(word), false),
      execute: ({ word }) => (seen.push(word), { count: word })
    })
    const { agent } = makeAgent([asksFor({ word: 'four' }), 'Done.'], { tools: [measure] })
    const { toolCalls } = await agent.run('Measure')
    t.strictSame(seen, [4, 4])
    t.match(toolCalls, [{ args: { word: 'four' }, result: { count: '4' } }])
  }
)

t.test('arguments that an approval edited are validated and transformed again', async (t) => {
  const seen: unknown[] = []
  const look = defineTool({
    name: 'look',
    description: 'Measures',
    input: Length,
    approval: true,
    execute: ({ word }) => void seen.push(word)
  })
  for (const args of [undefined, { word: 'longer' }, { word: 5 }]) {
    const { agent } = makeAgent([asksFor({ word: 'four' }), 'Done.'], { tools: [look] })
    await runIn(agent, 'Measure', { answers: { approved: true, ...(args && { args }) } })
  }
  t.strictSame(seen, [4, 6])
})

t.test('a result that does not fit is an error of the tool', async (t) => {
  const look = defineTool({
    name: 'look',
    description: 'Looks',
    input: Type.Object({}),
    output: Type.Object({ count: Type.Number() }),
    execute: () => ({ count: 'four' }) as never
  })
  const { agent } = makeAgent([asksFor({}), 'Done.'], { tools: [look] })
  t.match((await agent.run('x')).toolCalls[0]?.error, {
    code: 'RUN_ERR_TOOL_BAD_OUTPUT',
    message: 'Bad result of the tool: count: must be number'
  })
  for (const output of ['text', v.string(), { type: 'nonsense' }])
    t.throws(
      () =>
        defineTool({
          name: 'x',
          description: 'X',
          input: Type.Object({}),
          output: output as never,
          execute: () => 1 as never
        }),
      { code: 'RUN_ERR_BAD_TOOL', message: /the output of "x"/ }
    )
})

t.test('a schema may be asynchronous', async (t) => {
  const Known = z.object({ city: z.string().refine(async (city) => city === 'Rome', 'is unknown') })
  const look = defineTool({ name: 'look', description: 'L', input: Known, execute: ({ city }) => city })
  const { agent } = makeAgent([asksFor({ city: 'Oslo' }), asksFor({ city: 'Rome' }), '{"city":"Rome"}'], {
    tools: [look],
    output: Known
  })
  const { toolCalls, structured } = await agent.run('x')
  t.match(toolCalls, [{ error: { message: 'Bad arguments: city: is unknown' } }, { result: 'Rome' }])
  t.strictSame(structured, { city: 'Rome' })
  const flow = new Workflow({
    name: 'flow',
    register: false,
    input: Known,
    steps: (steps) => steps.step('city', ({ input }) => input.city)
  })
  t.equal((await runIn(flow, { city: 'Rome' })).result?.text, 'Rome')
  t.match((await runIn(flow, { city: 'Oslo' })).error, {
    code: 'RUN_ERR_BAD_INPUT',
    message: 'input/city: is unknown'
  })
  await t.rejects(flow.run({ city: 'Oslo' }), { errors: [{ path: 'input/city', message: 'is unknown' }] })
})

t.test('a schema that never settles ends with the run', async (t) => {
  const endless = z.string().refine(() => new Promise<boolean>(() => {}))
  const flowOf = (schemas: { input?: Schema; output?: Schema }) =>
    new Workflow({ name: 'flow', register: false, ...schemas, steps: (flow) => flow.step('a', () => 'a') })
  for (const schemas of [{ input: endless }, { output: endless }]) {
    const controller = new AbortController()
    setTimeout(() => controller.abort(new Error('gone')), 20)
    await t.rejects(flowOf(schemas).run('x', { signal: controller.signal }), { message: 'gone' })
  }
})

t.test('a schema that cannot be used is refused at construction', async (t) => {
  const cycle: Record<string, unknown> = { type: 'object' }
  cycle['properties'] = { self: cycle }
  const throwing = {
    '~standard': {
      version: 1,
      vendor: 'x',
      validate: () => ({ value: 1 }),
      jsonSchema: {
        input() {
          // oxlint-disable-next-line no-throw-literal, typescript/only-throw-error -- a library may throw anything
          throw null
        }
      }
    }
  }
  const bad: [input: unknown, output: unknown, says: RegExp][] = [
    [cycle, undefined, /the input of "x" is not JSON/],
    [{ type: 'object', default: 5n }, undefined, /the input of "x" is not JSON/],
    [{ type: 'object', $async: true }, undefined, /the input of "x" has the keyword \$async/],
    [throwing, undefined, /the input of "x" has no JSON Schema/],
    [plain, null, /the output of "x" is not a schema/],
    [plain, false, /the output of "x" is not a schema/]
  ]
  for (const [input, output, message] of bad)
    t.throws(
      () =>
        defineTool({
          name: 'x',
          description: 'X',
          input: input as never,
          output: output as never,
          execute: () => 1 as never
        }),
      { code: 'RUN_ERR_BAD_TOOL', message }
    )
})

t.test('a structured answer has to be JSON after its transforms too', async (t) => {
  const output = z.object({ count: z.number().transform(BigInt) })
  const { agent } = makeAgent('{"count":5}', { output })
  t.strictSame(agent.describe().output, {}, 'a transform has no JSON Schema')
  await t.rejects(agent.run('x'), { code: 'RUN_ERR_BAD_OUTPUT' })
  const changed = {
    Date: () => new Date(0),
    Map: () => new Map([['a', 1]]),
    URL: () => new URL('http://a.example')
  }
  for (const [name, make] of Object.entries<() => object>(changed)) {
    const schema = z.object({ list: z.array(z.string().transform(make)) })
    await t.rejects(makeAgent('{"list":["x"]}', { output: schema }).agent.run('x'), {
      code: 'RUN_ERR_BAD_OUTPUT',
      message: new RegExp(`transforms to a ${name}, which JSON cannot carry`)
    })
  }
})

t.test('the output of a workflow has to be JSON after its transforms too', async (t) => {
  const transforms: (() => unknown)[] = [() => 5n, () => () => 1, () => new Map()]
  for (const make of transforms) {
    const flow = new Workflow({
      name: 'flow',
      register: false,
      output: z.string().transform(make),
      steps: (steps) => steps.step('a', () => 'a')
    })
    await t.rejects(flow.run('x'), { code: 'RUN_ERR_WORKFLOW_BAD_OUTPUT' })
  }
})

t.test('a step infers the output an agent or a workflow declares', async (t) => {
  const { agent } = makeAgent('{"word":"four"}', { output: Length })
  const inner = new Workflow({
    name: 'inner',
    register: false,
    output: Type.Object({ twice: Type.Number() }),
    steps: (flow) =>
      flow.step('measured', agent).step('twice', ({ steps }) => ({
        twice: 2 * steps.measured.word
      }))
  })
  const outer = new Workflow({
    name: 'outer',
    register: false,
    steps: (flow) => flow.step('inner', inner).step('end', ({ previous }) => `${previous.twice} in all`)
  })
  t.equal((await outer.run('four')).text, '8 in all')
  const looping = makeAgent(asksFor({}), { output: Length, maxSteps: 1 }).agent
  const stuck = new Workflow({
    name: 'stuck',
    register: false,
    steps: (flow) => flow.step('a', looping)
  })
  await t.rejects(stuck.run('x'), {
    code: 'RUN_ERR_STEP_BAD_OUTPUT',
    message: /there is no structured answer: max-steps/
  })
})

t.test('a team declares the output of the member that answers', async (t) => {
  const first = makeAgent('Rome', { name: 'first' }).agent
  const last = makeAgent('{"word":"four"}', { name: 'last', output: Length }).agent
  const sequence = new Team({ name: 'team', register: false, mode: 'sequence', members: [first, last] })
  t.strictSame((await sequence.run('x')).structured, { word: 4 })
  t.strictSame(sequence.outputSchema, last.outputSchema)
  t.equal(
    new Team({ name: 'team', register: false, mode: 'sequence', members: [last, first] }).outputSchema,
    undefined
  )
  const other = makeAgent('5', { name: 'other', output: Type.Number() }).agent
  const { model } = makeAgent('last')
  const members = [last, other] as const
  const route = new Team({ name: 'team', register: false, mode: 'route', model, members })
  t.strictSame(route.outputSchema, { anyOf: [last.outputSchema, other.outputSchema] })
  t.strictSame((await route.run('x')).structured, { word: 4 })
})

t.test('a leader calls a workflow with its input as given; the workflow transforms it once', async (t) => {
  const schemas: Readonly<Record<string, Schema>> = {
    zod: z.object({ word: z.string().transform((word) => word.length) }),
    'json schema': { type: 'object', properties: { word: { type: 'string' } } },
    typebox: Type.Object({ word: Type.String() })
  }
  for (const [library, input] of Object.entries(schemas)) {
    const measure = new Workflow<Schema>({
      name: 'measure',
      register: false,
      input,
      steps: (flow) => flow.step('end', ({ input: given }) => JSON.stringify(given))
    })
    const { model } = makeAgent([{ toolCalls: [{ toolName: 'measure', args: { word: 'four' } }] }, 'Done.'])
    const team = new Team({ name: 'team', register: false, mode: 'coordinate', model, members: [measure] })
    const { toolCalls } = await team.run('Measure')
    t.match(toolCalls, [{ result: JSON.stringify({ word: library === 'zod' ? 4 : 'four' }) }], library)
  }
})

t.test('a restart finds the transformed output of a step again', async (t) => {
  let dies = true
  const seen: unknown[] = []
  const { agent } = makeAgent('{"word":"four"}', { output: Length })
  const flow = new Workflow({
    name: 'flow',
    register: false,
    input: z.object({ word: z.string().transform((word) => word.length) }),
    steps: (steps) =>
      steps
        .step('measured', agent, { input: () => 'Measure' })
        .step('end', async ({ steps: { measured }, input }) => {
          seen.push(measured, input)
          if (dies) await new Promise(() => {})
          return 'done'
        })
  })
  const { stores, runId } = await crashIn(flow, { word: 'longer' }, () => seen.length > 0)
  dies = false
  const { result } = await goOn(flow, stores, runId)
  t.equal(result?.text, 'done')
  t.strictSame(seen, [{ word: 4 }, { word: 6 }, { word: 4 }, { word: 6 }])
})
