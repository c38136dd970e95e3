import { mock } from 'node:test'
import {
  createInProcessStores,
  createRunEngine,
  type ClientTool,
  type InputAnswer,
  type NumberedPart,
  type PartOf,
  type RunEngine,
  type StartOptions
} from '@svc/registry'
import { Agent, defineSkill, defineTool, Team, type AgentOptions } from '@svc/runtime'
import { scriptedModel, type Script } from '@svc/runtime/testing'
import t from 'tap'

type Test = { teardown(fn: () => unknown): unknown }
type Request = PartOf<'input.request'>

const off = { register: false } as const
const locate: ClientTool = {
  name: 'locate',
  description: 'Where the user is',
  input: { type: 'object', properties: { exact: { type: 'boolean' } }, additionalProperties: false }
}
const call = (toolName: string, args: object = {}) => ({ toolCalls: [{ toolName, args }] })

/** Runs an agent that has client tools, and answers its requests. */
async function runWith(
  t: Test,
  script: Script,
  {
    answer = () => ({ action: 'accept', content: 'Rome' }),
    tools = [locate],
    options = {},
    start = {}
  }: {
    /** Undefined if it answers by itself. */
    answer?: (request: Request, engine: RunEngine) => InputAnswer | Promise<undefined>
    tools?: readonly ClientTool[]
    options?: Partial<AgentOptions>
    start?: StartOptions
  } = {}
) {
  const model = scriptedModel(script)
  const engine = createRunEngine({ drainTimeout: 0, stores: createInProcessStores() })
  t.teardown(() => engine.close())
  const agent = new Agent({ name: 'a', model, ...off, ...options })
  const run = await engine.start(agent, 'Go', { tools, ...start })
  const parts: NumberedPart[] = []
  const states: (string | undefined)[] = []
  for await (const part of run.parts()) {
    parts.push(part)
    if (part.type !== 'input.request') continue
    states.push((await engine.find(run.runId))?.status)
    const given = await answer(part, engine)
    if (given !== undefined) await engine.answer(part.inputId, given)
  }
  const ofType = <T extends NumberedPart['type']>(type: T) =>
    parts.filter((part): part is NumberedPart & PartOf<T> => part.type === type)
  return { model, engine, run, parts, states, ofType }
}

t.test('a call of a client tool waits for its answer, which is its result', async (t) => {
  const { model, run, parts, states, ofType } = await runWith(t, [
    call('locate', { exact: true }),
    'In Rome.'
  ])
  t.strictSame(states, ['input-required'])
  t.match(await run.result(), { text: 'In Rome.', toolCalls: [{ toolName: 'locate', result: 'Rome' }] })
  t.match(ofType('tool.call'), [{ toolName: 'locate', args: { exact: true }, runsAt: 'client' }])
  const [request] = ofType('input.request')
  t.match(request, { kind: 'tool', toolName: 'locate', args: { exact: true }, toolCallId: 'call-1' })
  t.match(ofType('input.response'), [{ inputId: request?.inputId, action: 'accept' }])
  t.notOk('content' in (ofType('input.response')[0] ?? {}), 'the result is in tool.result only')
  t.match(ofType('tool.result'), [{ toolCallId: 'call-1', toolName: 'locate', result: 'Rome' }])
  const order = ['tool.call', 'input.request', 'input.response', 'tool.result']
  t.strictSame(
    parts.map(({ type }) => type).filter((type) => order.includes(type)),
    order
  )
  t.match(model.calls[0]?.tools, [
    { type: 'function', name: 'locate', description: locate.description, inputSchema: locate.input }
  ])
  t.match(model.calls[1]?.prompt.at(-1), {
    role: 'tool',
    content: [{ toolName: 'locate', output: { type: 'text', value: 'Rome' } }]
  })
})

t.test('any JSON is a result; without content it is null', async (t) => {
  for (const content of [{ a: [1] }, [], 0, false, null, '']) {
    const { ofType } = await runWith(t, [call('locate'), 'ok'], {
      answer: () => ({ action: 'accept', content })
    })
    t.strictSame(ofType('tool.result')[0]?.result, content)
  }
  const { ofType } = await runWith(t, [call('locate'), 'ok'], { answer: () => ({ action: 'accept' }) })
  t.equal(ofType('tool.result')[0]?.result, null)
})

t.test('a client that declines or cancels gives the model an error', async (t) => {
  const cases = [
    ['decline', 'RUN_ERR_TOOL_DECLINED'],
    ['cancel', 'RUN_ERR_TOOL_CANCELED']
  ] as const
  for (const [action, code] of cases) {
    const { run, ofType } = await runWith(t, [call('locate'), 'Never mind.'], { answer: () => ({ action }) })
    t.match(await run.result(), { text: 'Never mind.', finishReason: 'stop' })
    t.match(ofType('tool.error'), [{ toolName: 'locate', error: { code } }])
  }
})

t.test('a call that is not answered within 10 minutes gives the model an error', async (t) => {
  mock.timers.enable({ apis: ['setTimeout', 'Date'] })
  t.teardown(() => mock.timers.reset())
  const { run, states, ofType } = await runWith(t, [call('locate'), 'Silence.'], {
    options: { timeout: { run: 3_600_000 } },
    async answer({ inputId, expiresAt }, engine) {
      t.equal(Date.parse(expiresAt) - Date.now(), 600_000)
      mock.timers.tick(600_000)
      while ((await engine.findInput(inputId))?.input.answer === null);
      await t.rejects(engine.answer(inputId, { action: 'accept' }), { code: 'RUN_ERR_INPUT_EXPIRED' })
      return undefined
    }
  })
  t.strictSame(states, ['input-required'])
  t.match(await run.result(), { text: 'Silence.' })
  t.match(ofType('input.response'), [{ action: 'cancel' }])
  t.match(ofType('tool.error'), [{ error: { code: 'RUN_ERR_INPUT_EXPIRED' } }])
})

t.test('bad arguments never reach the client', async (t) => {
  const { run, ofType } = await runWith(t, [call('locate', { exact: 'yes' }), call('locate'), 'Done.'])
  t.match(await run.result(), { text: 'Done.' })
  t.match(ofType('tool.error'), [{ error: { code: 'RUN_ERR_TOOL_BAD_ARGS', message: /exact/ } }])
  t.equal(ofType('input.request').length, 1)
})

t.test('a schema with an exploding pattern is checked in linear time', async (t) => {
  const input = { type: 'object', properties: { text: { type: 'string', pattern: '^(a+)+$' } } }
  const tools = [{ ...locate, input }]
  const long = `${'a'.repeat(50_000)}!`
  const script = [call('locate', { text: long }), call('locate', { text: 'aaa' }), 'Done.']
  const { run, ofType } = await runWith(t, script, { tools })
  t.match(await run.result(), { text: 'Done.' })
  t.match(ofType('tool.error'), [{ error: { code: 'RUN_ERR_TOOL_BAD_ARGS' } }])
  t.match(ofType('input.request'), [{ args: { text: 'aaa' } }])
})

t.test('several calls in one step wait at once, beside tools of the server', async (t) => {
  const served: string[] = []
  const add = defineTool({
    name: 'add',
    description: '',
    input: { type: 'object' },
    execute: () => (served.push('add'), 3)
  })
  const step = {
    toolCalls: [
      { toolName: 'locate', args: { exact: true } },
      { toolName: 'add', args: {} },
      { toolName: 'locate', args: { exact: false } }
    ]
  }
  const pending: Request[] = []
  const { model, run, ofType } = await runWith(t, [step, 'Done.'], {
    options: { tools: [add], approval: ({ name }) => name !== 'add' },
    // The answers arrive in the reverse order.
    async answer(request, engine) {
      pending.unshift(request)
      if (pending.length < 2) return undefined
      for (const { inputId, args } of pending)
        await engine.answer(inputId, { action: 'accept', content: args })
      return undefined
    }
  })
  t.match(await run.result(), { text: 'Done.' })
  t.strictSame(served, ['add'])
  t.equal(ofType('tool.approval.request').length, 0, 'approvals do not apply to client tools')
  t.match(model.calls[1]?.prompt.at(-1), {
    content: [
      { toolName: 'locate', output: { value: { exact: true } } },
      { toolName: 'add', output: { value: 3 } },
      { toolName: 'locate', output: { value: { exact: false } } }
    ]
  })
})

t.test('a name of the agent’s own tool is refused: of tools, skills, functions and members', async (t) => {
  const engine = createRunEngine({ drainTimeout: 0 })
  t.teardown(() => engine.close())
  const model = scriptedModel('Hi')
  const own = defineTool({ name: 'locate', description: '', input: { type: 'object' }, execute: () => 1 })
  const skills = [defineSkill({ name: 's', description: 'A skill', instructions: 'Do it' })]
  const taken = { code: 'RUN_ERR_TOOL_NAME_TAKEN', statusCode: 400 }
  const loads = { ...locate, name: 'load_skill' }
  await t.rejects(
    engine.start(new Agent({ name: 'a', model, tools: [own], ...off }), 'x', { tools: [locate] }),
    taken
  )
  await t.rejects(
    engine.start(new Agent({ name: 'b', model, skills, ...off }), 'x', { tools: [loads] }),
    taken
  )
  const withFunction = new Agent({ name: 'c', model, tools: () => [own], skills, ...off })
  await t.rejects(engine.start(withFunction, 'x', { tools: [loads] }), taken)
  const run = await engine.start(withFunction, 'x', { tools: [locate] })
  await t.rejects(run.result(), taken, 'known only in the run')
  const member = new Agent({ name: 'locate', model, ...off })
  const crew = new Team({ name: 'd', mode: 'coordinate', model, members: [member], ...off })
  await t.rejects(engine.start(crew, 'x', { tools: [locate] }), taken)
  const picked = new Team({
    name: 'e',
    mode: 'route',
    model,
    members: [new Agent({ name: 'm', model, tools: [own], ...off })],
    ...off
  })
  await t.rejects(engine.start(picked, 'x', { tools: [locate] }), taken)
})

t.test('prepareStep may replace the agent’s own tools only', async (t) => {
  const other = defineTool({ name: 'other', description: '', input: { type: 'object' }, execute: () => 1 })
  const { model } = await runWith(t, [call('locate'), 'Done.'], {
    options: { prepareStep: ({ stepNumber }) => (stepNumber === 1 ? { tools: [other] } : undefined) }
  })
  t.match(
    model.calls.map(({ tools }) => tools?.map(({ name }) => name)),
    [['locate'], ['other', 'locate']]
  )
})

t.test('a result that is too large is refused, and the run waits on', async (t) => {
  const { run } = await runWith(t, [call('locate'), 'Enough.'], {
    async answer({ inputId }, engine) {
      const answer = (bytes: number) =>
        engine.answer(inputId, { action: 'accept', content: 'x'.repeat(bytes - 2) })
      await t.rejects(answer(262_145), { code: 'RUN_ERR_BAD_INPUT', statusCode: 400 })
      await answer(262_144)
      return undefined
    }
  })
  t.match(await run.result(), { text: 'Enough.' })
})

t.test('a member that answers the caller has the tools; the member of a leader has not', async (t) => {
  const engine = createRunEngine({ drainTimeout: 0 })
  t.teardown(() => engine.close())
  const model = scriptedModel([call('locate'), 'Here.'])
  const member = new Agent({ name: 'm', model, ...off })
  const first = new Team({ name: 'first', mode: 'sequence', members: [member], ...off })
  const run = await engine.start(first, 'Go', { tools: [locate] })
  for await (const part of run.parts())
    if (part.type === 'input.request') {
      t.strictSame(part.source, ['m'])
      await engine.answer(part.inputId, { action: 'accept', content: 'Rome' })
    }
  t.match(await run.result(), { text: 'Here.' })
  const asked = scriptedModel('Fine.')
  const helper = new Agent({ name: 'helper', model: asked, ...off })
  const leader = scriptedModel([call('helper', { message: 'Hi' }), 'Done.'])
  const led = new Team({ name: 'led', mode: 'coordinate', model: leader, members: [helper], ...off })
  await (await engine.start(led, 'Go', { tools: [locate] })).result()
  t.equal(asked.calls[0]?.tools, undefined)
  t.strictSame(
    leader.calls[0]?.tools?.map(({ name }) => name),
    ['helper', 'locate']
  )
})

t.test('a call outlasts a restart; its answer continues the run in the next process', async (t) => {
  const stores = createInProcessStores()
  const silent = { publish: async () => {}, subscribe: () => () => {} }
  // A dead process neither reports failed writes nor gets messages.
  const log = { ...stores.log, abandon: () => {} } as never
  const dead = createRunEngine({ stores: { ...stores, log, control: silent }, drainTimeout: 0 })
  t.teardown(() => dead.close())
  const model = scriptedModel([call('locate', { exact: true }), 'In Rome.'])
  const agent = new Agent({ name: 'a', model, instructions: 'Be kind.', ...off })
  const messages = [
    { role: 'user' as const, content: 'Hi' },
    { role: 'assistant' as const, text: 'Hello' }
  ]
  const start = { tools: [locate], instructions: 'Be brief.', messages, metadata: { customer: 'c-17' } }
  const run = await dead.start(agent, 'Where am I?', start)
  run.result().catch(() => {})
  let inputId = ''
  for await (const part of run.parts()) {
    if (part.type !== 'input.request') continue
    ;({ inputId } = part)
    break
  }
  const engine = createRunEngine({ stores, drainTimeout: 0 })
  t.teardown(() => engine.close())
  await engine.recover()
  t.equal(await engine.resume(agent), 1)
  await engine.answer(inputId, { action: 'accept', content: 'Rome' })
  const types: string[] = []
  for await (const { type } of engine.parts(run.runId)) types.push(type)
  t.equal(types.filter((type) => type === 'input.request').length, 1)
  t.match(await engine.get(run.runId), {
    status: 'completed',
    metadata: { customer: 'c-17' },
    result: { text: 'In Rome.', toolCalls: [{ toolName: 'locate', result: 'Rome' }] }
  })
  t.equal(model.calls.length, 2, 'the recorded step is not repeated')
  const [before, after] = model.calls
  t.strictSame(after?.prompt.slice(0, before?.prompt.length), before?.prompt)
  t.match(after?.tools, [{ name: 'locate' }])
})

t.test('without an engine a call is canceled, since a client cannot answer', async (t) => {
  const agent = new Agent({ name: 'a', model: scriptedModel([call('locate'), 'Done.']), ...off })
  const { toolCalls } = await agent.run('Go', { tools: [locate] })
  t.match(toolCalls, [{ toolName: 'locate', error: { code: 'RUN_ERR_TOOL_CANCELED' } }])
})
