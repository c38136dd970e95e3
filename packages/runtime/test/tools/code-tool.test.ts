import { Type } from '@sinclair/typebox'
import { codeTool, defineTool, quickJsSandbox, type AgentOptions, type CodeToolOptions } from '@svc/runtime'
import t from 'tap'
import { collect, makeAgent, makeContext } from '../helpers/make-agent.ts'

const sandbox = quickJsSandbox({ bubblewrap: 'off' })
t.after(() => sandbox.close())

const weatherTool = (more: { approval?: boolean } = {}) =>
  defineTool({
    name: 'weather',
    description: 'Tells the degrees',
    input: Type.Object({ city: Type.String() }),
    execute: ({ city }) => {
      if (city === 'Atlantis') throw new Error('no such city')
      return { degrees: city.length }
    },
    ...more
  })
const weather = weatherTool()

/** What a run gives whose model writes the program, and then says what it was told. */
async function runProgram(
  code: string,
  tool: Partial<CodeToolOptions> = {},
  options: Partial<AgentOptions> = {},
  context = makeContext()
) {
  const compute = codeTool({ name: 'compute', tools: [weather], sandbox, ...tool })
  const { agent, model } = makeAgent([{ toolCalls: [{ toolName: 'compute', args: { code } }] }, 'Done.'], {
    tools: [compute],
    ...options
  })
  const run = await collect(agent.stream('Go', context.context))
  return { ...run, told: model.calls[1]?.prompt.at(-1)?.content[0], model, logged: context.logged }
}

t.test('a program calls tools, and its calls are told under its own', async (t) => {
  const { parts, told, model } = await runProgram(
    'const all = await Promise.all(["Rome", "Paris"].map((city) => tools.weather({ city })))\nconsole.log(all.length)\nreturn all.map(({ degrees }) => degrees)'
  )
  const own = { parentToolCallId: 'call-1', toolName: 'weather' }
  t.match(
    parts.filter(({ type }) => type.startsWith('tool.')),
    [
      { type: 'tool.call', toolCallId: 'call-1', toolName: 'compute' },
      { type: 'tool.call', toolCallId: 'call-1.1', ...own, args: { city: 'Rome' } },
      { type: 'tool.call', toolCallId: 'call-1.2', ...own, args: { city: 'Paris' } },
      { type: 'tool.result', toolCallId: 'call-1.1', ...own, result: { degrees: 4 } },
      { type: 'tool.result', toolCallId: 'call-1.2', ...own, result: { degrees: 5 } },
      { type: 'tool.result', toolCallId: 'call-1', result: { result: [4, 5], console: '2\n' } }
    ]
  )
  t.match(told, { output: { type: 'json', value: { result: [4, 5], console: '2\n' } } })
  t.equal(model.calls[1]?.prompt.length, 3, 'the model sees the call that it made, and no other')
})

t.test('the model is told how programs are written, and what they may call', async (t) => {
  const { model } = await runProgram('return 1', { description: 'Computes.' })
  const [tool] = model.calls[0]?.tools ?? []
  t.match(tool, {
    name: 'compute',
    description: /^Computes\.\n\nRuns a JavaScript program[^]*tools\["weather"\]\(args\): Tells/
  })
})

t.test('calls of a program are checked like others', async (t) => {
  const { told, ofType } = await runProgram(`const seen = []
    for (const args of [{ city: 5 }, { city: 'Atlantis' }, JSON.parse('{"__proto__":{"city":"Rome"}}')])
      await tools.weather(args).catch((e) => seen.push(e.code))
    return seen`)
  t.match(told, {
    output: { value: { result: ['RUN_ERR_TOOL_BAD_ARGS', 'RUN_ERR_TOOL_FAILED', 'RUN_ERR_TOOL_BAD_ARGS'] } }
  })
  t.match(ofType('tool.error'), [{ toolCallId: 'call-1.1' }, { toolCallId: 'call-1.2' }])
})

t.test('what went wrong in a program is an error that the model can mend', async (t) => {
  const cases: [code: string, error: string, message: RegExp, timeout?: number][] = [
    [
      'console.log("was here"); x.y',
      'RUN_ERR_PROGRAM_FAILED',
      /ReferenceError: x is[^]*program\.js:1[^]*console:\nwas here/
    ],
    ['for (;;);', 'RUN_ERR_PROGRAM_TIMEOUT', /100 ms/, 100],
    ['return "x".repeat(3e5)', 'RUN_ERR_TOOL_OUTPUT_TOO_LARGE', /300002/]
  ]
  for (const [code, error, message, timeout = 5_000] of cases) {
    const { ofType, text } = await runProgram(code, { limits: { timeout } })
    t.match(ofType('tool.error'), [{ toolCallId: 'call-1', error: { code: error, message } }], code)
    t.equal(text, 'Done.')
  }
})

t.test('calls of a program are limited in time, and end with it', async (t) => {
  const signals: AbortSignal[] = []
  const hanging = (timeout: number) =>
    defineTool({
      name: 'hang',
      description: '',
      input: Type.Object({}),
      timeout,
      execute: (_args, { signal }) => (signals.push(signal), new Promise(() => {}))
    })
  const slow = hanging(60_000)
  const late = await runProgram('return tools.hang().catch((e) => e.code)', { tools: [hanging(50)] })
  t.match(late.told, { output: { value: { result: 'RUN_ERR_TOOL_TIMEOUT' } } })
  const { ofType } = await runProgram('tools.hang(); await null; throw 1', { tools: [slow] })
  t.match(ofType('tool.error'), [{ toolCallId: 'call-1', error: { code: 'RUN_ERR_PROGRAM_FAILED' } }])
  const outer = await runProgram('await tools.hang()', { tools: [slow], timeout: 300 })
  t.match(outer.ofType('tool.error').at(-1), {
    toolCallId: 'call-1',
    error: { code: 'RUN_ERR_TOOL_TIMEOUT' }
  })
  t.ok(signals.every(({ aborted }) => aborted))
})

t.test('nothing falls back silently', async (t) => {
  const missing = { code: 'RUN_ERR_SANDBOX_MISSING' }
  const confined = {
    ...quickJsSandbox(),
    run: sandbox.run,
    close: sandbox.close,
    describe: () => ({ name: 'far', confined: true, walls: [] })
  }
  const make = (tool: Partial<CodeToolOptions>, agent: Partial<AgentOptions> = {}) =>
    makeAgent('', { tools: [codeTool({ name: 'compute', sandbox, ...tool })], ...agent })
  t.throws(() => make({}, { sandbox: 'required' }), missing)
  t.throws(() => make({ sandbox: 'required' }, { sandbox }), missing)
  t.doesNotThrow(() => make({ sandbox: 'required' }, { sandbox: confined }))
  t.doesNotThrow(() => make({ sandbox: confined }, { sandbox: 'required' }))
  t.doesNotThrow(
    () => makeAgent('', { tools: [weather], sandbox: 'required' }),
    'tools of the developer need none'
  )
  t.throws(() => make({ sandbox: 'none' as never }), { code: 'RUN_ERR_BAD_SANDBOX' })
  t.throws(() => make({}, { sandbox: {} as never }), { code: 'RUN_ERR_BAD_SANDBOX' })
  t.throws(() => codeTool({ name: 'outer', tools: [codeTool({ name: 'inner' })] }), {
    code: 'RUN_ERR_BAD_TOOL'
  })
  t.throws(() => quickJsSandbox({ processes: 0 }), { code: 'RUN_ERR_BAD_SANDBOX', message: /processes/ })
})

t.test('how long its approval waits, and its call takes', async (t) => {
  t.match(codeTool({ name: 'compute' }), {
    approval: undefined,
    approvalTimeout: undefined,
    timeout: 600_000
  })
  const options = { approval: true, approvalTimeout: 1_000, timeout: 2_000 }
  t.match(codeTool({ name: 'compute', ...options }), options)
})

t.test('any tool may use a sandbox, and call other tools', async (t) => {
  const tool = defineTool({
    name: 'work',
    description: '',
    input: Type.Object({}),
    sandbox,
    async execute(_args, context) {
      const { result } = await context.sandbox!.run({ code: 'return input + 1', input: 1, tools: {} })
      return [result, await context.callTool(weather, { city: 'Rome' })]
    }
  })
  const { agent } = makeAgent([{ toolCalls: [{ toolName: 'work' }] }, 'Done.'], { tools: [tool] })
  const { toolCalls } = await agent.run('Go')
  t.match(toolCalls, [
    { toolName: 'work', result: [2, { degrees: 4 }] },
    { toolName: 'weather', parentToolCallId: 'call-1' }
  ])
})
