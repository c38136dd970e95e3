import { Type } from '@sinclair/typebox'
import { createRunEngine } from '@svc/registry'
import { Agent, defineTool, toolContent, type AgentOptions, type Tool } from '@svc/runtime'
import { scriptedModel, type ScriptedTurn } from '@svc/runtime/testing'
import t from 'tap'
import { survive } from '../helpers/crashing.ts'
import { collect, makeAgent, makeContext } from '../helpers/make-agent.ts'

const weather = defineTool({
  name: 'weather',
  description: 'Tells the degrees of a city',
  inputSchema: Type.Object({ city: Type.String() }, { additionalProperties: false }),
  deferred: true,
  execute: ({ city }) => ({ degrees: city.length })
})
const invoice = defineTool({
  name: 'createInvoice',
  description: 'Makes a bill for a customer',
  inputSchema: Type.Object({}),
  deferred: true,
  execute: () => 'made'
})
const plain = defineTool({
  name: 'clock',
  description: 'Tells the time',
  inputSchema: Type.Object({}),
  execute: () => 'noon'
})

const use = (name: string, args: unknown = {}): ScriptedTurn => ({
  toolCalls: [{ toolName: 'use_tool', args: { name, args } }]
})

/** What a run gives whose model makes the calls, one after the other, and then ends. */
async function play(turns: ScriptedTurn[], tools: readonly Tool[], options: Partial<AgentOptions> = {}) {
  const { agent, model } = makeAgent([...turns, 'Done.'], { tools, maxSteps: turns.length + 1, ...options })
  const run = await collect(agent.stream('Go', makeContext().context))
  const calls = run.parts.filter(({ type }) => type.startsWith('tool.'))
  const told = model.calls.slice(1).map(({ prompt }) => prompt.at(-1)?.content[0])
  return { ...run, model, calls, told }
}

t.test('deferred tools are not in the prompt, two others are', async (t) => {
  const { model } = await play([], [weather, plain, invoice])
  t.strictSame(
    model.calls[0]?.tools?.map(({ name }) => name),
    ['clock', 'find_tools', 'use_tool']
  )
})

t.test('they are found by words', async (t) => {
  const find = (query: string): ScriptedTurn => ({ toolCalls: [{ toolName: 'find_tools', args: { query } }] })
  const turns = [find('degrees in Rome'), find('Invoice'), find('clock'), find('')]
  const { told } = await play(turns, [weather, plain, invoice])
  const { name, description, inputSchema } = weather
  t.match(told, [
    { output: { value: { tools: [{ name, description, inputSchema }] } } },
    { output: { value: { tools: [{ name: 'createInvoice' }] } } },
    { output: { value: { tools: [] } } },
    { output: { value: { tools: [] } } }
  ])
})

t.test('a call is told as one within use_tool', async (t) => {
  const { calls, told } = await play([use('weather', { city: 'Rome' })], [weather])
  const own = { toolCallId: 'call-1.1', parentToolCallId: 'call-1', toolName: 'weather' }
  t.match(calls, [
    { type: 'tool.call', toolCallId: 'call-1', toolName: 'use_tool' },
    { type: 'tool.call', ...own, args: { city: 'Rome' } },
    { type: 'tool.result', ...own, result: { degrees: 4 } },
    { type: 'tool.result', toolCallId: 'call-1', result: { degrees: 4 } }
  ])
  t.match(told, [{ output: { type: 'json', value: { degrees: 4 } } }])
})

t.test('faults are those of the tool', async (t) => {
  const slow = defineTool({
    ...plainOptions('slow'),
    timeout: 5,
    execute: () => new Promise<never>(() => {})
  })
  const large = defineTool({ ...plainOptions('large'), maxOutputBytes: 10, execute: () => 'x'.repeat(100) })
  const broken = defineTool({
    ...plainOptions('broken'),
    execute() {
      throw new Error('no such city')
    }
  })
  const tools = [weather, invoice, slow, large, broken]
  const turns = [
    use('weather', { town: 'Rome' }),
    use('invoice_create'),
    use('zzz'),
    use('slow'),
    use('broken')
  ]
  const { calls } = await play([...turns, use('clock')], [...tools, plain])
  const codes = calls.flatMap((part) =>
    part.type === 'tool.error' && !part.parentToolCallId ? [part.error] : []
  )
  t.match(codes, [
    { code: 'RUN_ERR_TOOL_BAD_ARGS', message: /city/ },
    { code: 'RUN_ERR_TOOL_UNKNOWN', message: /"invoice_create"; the nearest are createInvoice/ },
    { code: 'RUN_ERR_TOOL_UNKNOWN', message: /"zzz"; find its name with find_tools/ },
    { code: 'RUN_ERR_TOOL_TIMEOUT' },
    { code: 'RUN_ERR_TOOL_FAILED', message: 'no such city' },
    { code: 'RUN_ERR_TOOL_UNKNOWN' }
  ])
})

const plainOptions = (name: string) => ({
  name,
  description: `Does ${name} work`,
  inputSchema: Type.Object({}),
  deferred: true
})

t.test('files reach the model, and are kept once', async (t) => {
  const draw = defineTool({
    ...plainOptions('draw'),
    execute: () => toolContent([{ type: 'file', mimeType: 'image/png', data: 'iVBORw0KGgo=' }])
  })
  const { told, ofType } = await play([use('draw')], [draw])
  t.match(told, [{ output: { type: 'content', value: [{ mediaType: 'image/png' }] } }])
  t.match(ofType('file'), [{ toolCallId: 'call-1.1', mimeType: 'image/png' }])
})

t.test('an approval is one of the tool, and its edits count', async (t) => {
  const engine = createRunEngine()
  t.teardown(() => engine.close())
  const model = scriptedModel([use('weather', { city: 'Rome' }), 'Done.'])
  const agent = new Agent({ name: 'tester', model, tools: [weather], approval: 'always', register: false })
  const run = await engine.start(agent, 'Go')
  for await (const part of run.parts())
    if (part.type === 'tool.approval.request') {
      t.match(part, { toolName: 'weather', args: { city: 'Rome' } })
      await engine.answer(part.approvalId, { approved: true, args: { city: 'Paris' } })
    }
  t.match(model.calls[1]?.prompt.at(-1)?.content[0], { output: { value: { degrees: 5 } } })
})

t.test('both names are reserved with deferred tools', async (t) => {
  const taken = (name: string) => defineTool({ ...plainOptions(name), deferred: false, execute: () => 1 })
  for (const name of ['find_tools', 'use_tool']) {
    t.throws(() => makeAgent('x', { tools: [weather, taken(name)] }), { code: 'RUN_ERR_BAD_AGENT' })
    t.doesNotThrow(() => makeAgent('x', { tools: [plain, taken(name)] }))
    const engine = createRunEngine()
    t.teardown(() => engine.close())
    const tools = [{ name, description: 'x', input: { type: 'object' } }]
    const { agent } = makeAgent('x', { tools: [weather] })
    await t.rejects(engine.start(agent, 'Go', { tools }), {
      code: 'RUN_ERR_TOOL_NAME_TAKEN',
      statusCode: 400
    })
  }
})

t.test('a choice of a deferred tool is refused: the model is not told of it', async (t) => {
  const engine = createRunEngine()
  t.teardown(() => engine.close())
  const { agent } = makeAgent('x', { tools: [weather] })
  const run = await engine.start(agent, 'Go', { toolChoice: { toolName: 'weather' } })
  await t.rejects(run.result(), { code: 'RUN_ERR_BAD_INPUT' })
  const prepareStep = () => ({ toolChoice: { toolName: 'weather' } })
  const { error } = await play([], [weather], { prepareStep })
  t.match(error, { code: 'RUN_ERR_BAD_AGENT' })
})

t.test('the tools of a step decide what is found and called', async (t) => {
  const turns = [use('weather', { city: 'Rome' }), use('createInvoice')]
  const prepareStep = () => ({ activeTools: ['weather', 'find_tools', 'use_tool'] })
  const { calls } = await play(turns, [weather, invoice], { prepareStep })
  const own = calls.filter((part) => part.type !== 'tool.call' && !('parentToolCallId' in part))
  t.match(own, [{ result: { degrees: 4 } }, { error: { code: 'RUN_ERR_TOOL_UNKNOWN' } }])
  const { model } = await play([], [weather, plain], { prepareStep: () => ({ activeTools: ['clock'] }) })
  t.strictSame(
    model.calls[0]?.tools?.map(({ name }) => name),
    ['clock']
  )
})

t.test(
  '300 deferred tools, 50 steps that use 20 of them: what is before the history stays the same',
  async (t) => {
    const tools = Array.from({ length: 300 }, (_, n) =>
      defineTool({ ...plainOptions(`tool_${n}`), execute: () => n })
    )
    const turns = Array.from({ length: 50 }, (_, n) => use(`tool_${(n * 7) % 20}`))
    const { model, calls } = await play(turns, [...tools, plain], { instructions: 'Be brief.' })
    t.equal(calls.filter(({ type }) => type === 'tool.result').length, 100)
    const before = model.calls.map(({ tools: listed, prompt }) =>
      JSON.stringify([listed, prompt.slice(0, 2)])
    )
    t.equal(before.length, 51)
    t.equal(new Set(before).size, 1)
    t.ok(before[0]!.length < 3_000, `${before[0]!.length} characters`)
  }
)

t.test('after a crash at any write a call is made no second time, and its result is the same', async (t) => {
  for (const idempotent of [true, false]) {
    let executed = 0
    const count = defineTool({ ...plainOptions('count'), idempotent, execute: () => ++executed && 'counted' })
    const make = () =>
      new Agent({
        name: 'tester',
        model: scriptedModel(({ prompt }) => (prompt.at(-1)?.role === 'tool' ? 'Done.' : use('count'))),
        tools: [count],
        register: false
      })
    const { appends } = await survive(make, [])
    for (let lifetime = 1; lifetime <= appends; lifetime++) {
      executed = 0
      const { status, parts } = await survive(make, [lifetime])
      t.equal(status, 'completed', `${idempotent} ${lifetime}`)
      if (!idempotent) t.ok(executed <= 1, `${lifetime}: executed ${executed}`)
      const ends = parts.filter(({ type }) => type === 'tool.result' || type === 'tool.error')
      const own = ends.findLast((part) => !('parentToolCallId' in part))
      if (own?.type === 'tool.error') t.equal(own.error.code, 'RUN_ERR_TOOL_INTERRUPTED')
      else t.match(own, { result: 'counted' })
      if (idempotent) t.equal(own?.type, 'tool.result')
    }
  }
})
