import { Type } from '@sinclair/typebox'
import type { SessionStore } from '@svc/registry'
import { defineTool, hasToolCall, stepCountIs, type AgentOptions, type StepState } from '@svc/runtime'
import { scriptedModel } from '@svc/runtime/testing'
import t from 'tap'
import { collect, makeAgent, makeContext } from '../helpers/make-agent.ts'

const toolNamed = (name: string) =>
  defineTool({ name, description: `Does ${name}`, input: Type.Object({}), execute: () => `${name} done` })
const tools = ['look', 'done'].map(toolNamed)
const look = { toolCalls: [{ toolName: 'look' }] }
const done = { toolCalls: [{ toolName: 'done' }] }

t.test('stopWhen ends the run after a step with tool calls, and saves the turn', async (t) => {
  const conditions: [stopWhen: NonNullable<AgentOptions['stopWhen']>, steps: number][] = [
    [stepCountIs(2), 2],
    [hasToolCall('done'), 3],
    [[hasToolCall('done'), stepCountIs(1)], 1],
    [({ steps }) => steps.filter(({ toolCalls }) => toolCalls[0]?.toolName === 'look').length === 2, 2],
    [async ({ steps }) => steps.at(-1)?.toolCalls[0]?.result === 'done done', 3],
    [[], 4]
  ]
  for (const [stopWhen, steps] of conditions) {
    const { agent, model } = makeAgent([look, look, done, 'End.'], { tools, stopWhen })
    const { context } = makeContext()
    const { finishReason, text, toolCalls } = await agent.run('Go', context)
    t.equal(model.calls.length, steps)
    t.equal(finishReason, 'stop')
    t.equal(text, steps === 4 ? 'End.' : '')
    t.ok(
      toolCalls.every(({ result }) => result !== undefined),
      'the last calls are served'
    )
    const key = { registry: 'global', owner: 'anonymous', kind: 'agent', name: 'tester' } as const
    const saved = await context.stores.sessions.load({ ...key, sessionId: context.sessionId }, 50)
    t.equal(saved.length, 1 + (steps === 4 ? 7 : 2 * steps))
  }
})

t.test('maxSteps holds beside stopWhen, and a condition that throws fails the run', async (t) => {
  const limited = makeAgent(look, { tools, stopWhen: hasToolCall('done'), maxSteps: 3 })
  t.match(await limited.agent.run('Go'), { finishReason: 'max-steps' })
  t.equal(limited.model.calls.length, 3)
  const failing = makeAgent(look, {
    tools,
    stopWhen: () => {
      throw new Error('of the condition')
    }
  })
  await t.rejects(failing.agent.run('Go'), { message: 'of the condition' })
})

t.test('a condition that could never hold is refused at construction', async (t) => {
  for (const count of [NaN, undefined, null, 0, -1, 1.5, Infinity, '2'])
    t.throws(() => stepCountIs(count as never), {
      code: 'RUN_ERR_BAD_AGENT',
      message: /stepCountIs: expected an integer of at least 1, got/
    })
  for (const name of ['', undefined, 5])
    t.throws(() => hasToolCall(name as never), {
      code: 'RUN_ERR_BAD_AGENT',
      message: /hasToolCall: expected a string/
    })
})

t.test('a condition must return a boolean', async (t) => {
  for (const result of [undefined, null, 1, 'yes', {}]) {
    const { agent } = makeAgent([look, 'End.'], { tools, stopWhen: async () => result as never })
    await t.rejects(agent.run('Go'), {
      code: 'RUN_ERR_BAD_AGENT',
      message: /agent "tester": stopWhen: expected a boolean, got/
    })
  }
})

t.test('conditions and prepareStep cannot change the steps and the prompt of the run', async (t) => {
  type Mutable = { steps: unknown[]; messages: { content: unknown[] }[] }
  const attempt = (change: () => unknown) => {
    try {
      change()
    } catch {
      // Frozen.
    }
  }
  const counts: number[] = []
  const { agent, model } = makeAgent([look, look, 'End.'], {
    tools,
    stopWhen: ({ steps }) => {
      counts.push(steps.length)
      attempt(() => ((steps[0]!.toolCalls[0] as { result: unknown }).result = 'forged'))
      attempt(() => ((steps as unknown[]).length = 0))
      return false
    },
    prepareStep(state) {
      const { steps, messages } = state as unknown as Mutable
      attempt(() => steps.push('another'))
      attempt(() => messages[0]!.content.push({ type: 'text', text: 'Injected' }))
      attempt(() => messages.pop())
    }
  })
  t.equal((await agent.run('Go')).text, 'End.')
  t.strictSame(counts, [1, 2])
  const prompt = JSON.stringify(model.calls[2]?.prompt)
  t.notMatch(prompt, /Injected|forged/)
  t.equal(model.calls[2]?.prompt.length, 5)
})

t.test('a condition sees what the steps did', async (t) => {
  const seen: unknown[] = []
  const fail = defineTool({
    name: 'fail',
    description: 'Fails',
    input: Type.Object({}),
    execute: () => {
      throw new Error('broken')
    }
  })
  const { agent } = makeAgent([{ text: 'Trying.', toolCalls: [{ toolName: 'fail' }] }, look, 'End.'], {
    tools: [...tools, fail],
    stopWhen: ({ steps }) => (seen.push(structuredClone(steps.at(-1))), false)
  })
  await agent.run('Go')
  t.match(seen, [
    {
      stepNumber: 0,
      text: 'Trying.',
      finishReason: 'tool-calls',
      toolCalls: [{ toolName: 'fail', error: { code: 'RUN_ERR_TOOL_FAILED', message: 'broken' } }],
      usage: { promptTokens: 10 }
    },
    { stepNumber: 1, toolCalls: [{ toolName: 'look', result: 'look done' }] }
  ])
})

t.test('toolChoice goes to the model with every call that has tools', async (t) => {
  const choices: [NonNullable<AgentOptions['toolChoice']>, object][] = [
    ['auto', { type: 'auto' }],
    ['none', { type: 'none' }],
    ['required', { type: 'required' }],
    [{ toolName: 'look' }, { type: 'tool', toolName: 'look' }],
    [
      { type: 'tool', toolName: 'look' },
      { type: 'tool', toolName: 'look' }
    ]
  ]
  for (const [toolChoice, expected] of choices) {
    const { agent, model } = makeAgent([look, 'End.'], { tools, toolChoice })
    await agent.run('Go')
    t.match(
      model.calls.map((call) => call.toolChoice),
      [expected, expected]
    )
  }
  const bare = makeAgent('End.', { toolChoice: 'required' })
  await bare.agent.run('Go')
  t.equal(bare.model.calls[0]?.toolChoice, undefined, 'providers refuse it without tools')
  t.equal(makeAgent('End.', { tools }).model.calls[0]?.toolChoice, undefined)
  t.throws(() => makeAgent('x', { tools, toolChoice: { toolName: 'other' } }), {
    code: 'RUN_ERR_BAD_AGENT',
    message: /there is no tool "other"; there are look, done/
  })
  t.throws(() => makeAgent('x', { toolChoice: 'never' as never }), { message: /toolChoice: expected 'auto'/ })
})

t.test('prepareStep changes one step: model, instructions, messages, tools and tool choice', async (t) => {
  const states: StepState[] = []
  const other = scriptedModel([look])
  const { agent, model } = makeAgent([look, done, 'End.'], {
    instructions: 'Be brief.',
    tools,
    prepareStep(state) {
      states.push({ ...state, steps: [...state.steps] })
      if (state.stepNumber === 1) return { model: other, instructions: 'Be long.', activeTools: ['look'] }
      if (state.stepNumber === 2)
        return { messages: state.messages.slice(-2), tools: [tools[1]!], toolChoice: { toolName: 'done' } }
      return undefined
    }
  })
  t.equal((await agent.run('Go')).text, 'End.')
  t.equal(model.calls.length, 3)
  t.equal(other.calls.length, 1)
  const namesIn = (call?: (typeof model.calls)[number]) => call?.tools?.map(({ name }) => name)
  t.match(model.calls[0]?.prompt, [{ role: 'system', content: 'Be brief.' }, { role: 'user' }])
  t.match(other.calls[0]?.prompt[0], { role: 'system', content: 'Be long.' })
  t.strictSame(namesIn(other.calls[0]), ['look'])
  t.strictSame(
    model.calls[1]?.prompt.map(({ role }) => role),
    ['system', 'user', 'assistant', 'tool']
  )
  t.strictSame(namesIn(model.calls[1]), ['done'])
  t.strictSame(model.calls[1]?.toolChoice, { type: 'tool', toolName: 'done' })
  t.match(model.calls[2]?.prompt[0], { role: 'system', content: 'Be brief.' }, 'only that step')
  t.strictSame(namesIn(model.calls[2]), ['done', 'look'])
  t.strictSame(
    states.map(({ stepNumber, steps, messages }) => [stepNumber, steps.length, messages.length]),
    [
      [0, 0, 1],
      [1, 1, 3],
      [2, 2, 5],
      [3, 3, 7]
    ]
  )
  t.equal(typeof states[0]?.context.runId, 'string')
})

t.test('instructions of a step keep the skills, and stand first where there were none', async (t) => {
  const { agent, model } = makeAgent('End.', {
    skills: [{ name: 'haiku', description: 'Writes a haiku', instructions: 'x' }],
    prepareStep: async () => ({ instructions: 'Be kind.' })
  })
  await agent.run('Go')
  t.match(model.calls[0]?.prompt[0], { role: 'system', content: /^Be kind\.\n\n[^]*haiku/ })
  const bare = makeAgent('End.', { prepareStep: () => ({ instructions: 'Be kind.' }) })
  await bare.agent.run('Go')
  t.match(bare.model.calls[0]?.prompt, [{ role: 'system', content: 'Be kind.' }, { role: 'user' }])
})

t.test('what prepareStep returns is checked', async (t) => {
  const bad: [changes: unknown, code: string, says: RegExp][] = [
    [{ colour: 'red' }, 'RUN_ERR_BAD_AGENT', /prepareStep: colour: no such option/],
    [{ model: 'gpt' }, 'RUN_ERR_BAD_MODEL', /a string/],
    [{ activeTools: ['other'] }, 'RUN_ERR_BAD_AGENT', /there is no tool "other"/],
    [{ messages: [] }, 'RUN_ERR_BAD_AGENT', /prepareStep: messages/],
    [
      { toolChoice: { toolName: 'other' } },
      'RUN_ERR_BAD_AGENT',
      /prepareStep: toolChoice: .* no tool "other"/
    ],
    [
      { activeTools: ['done'], toolChoice: { toolName: 'look' } },
      'RUN_ERR_BAD_AGENT',
      /prepareStep: toolChoice: .* no tool "look"/
    ],
    [{ tools: [{ name: 'plain' }] }, 'RUN_ERR_BAD_AGENT', /tools\/0: use defineTool/]
  ]
  for (const [changes, code, message] of bad) {
    const { agent } = makeAgent('End.', { tools, prepareStep: () => changes as never })
    await t.rejects(agent.run('Go'), { code, message })
  }
})

t.test('tools of a step keep the tool that loads skills', async (t) => {
  const { agent, model } = makeAgent(
    [{ toolCalls: [{ toolName: 'load_skill', args: { name: 'haiku' } }] }, 'End.'],
    {
      tools,
      skills: [{ name: 'haiku', description: 'Writes a haiku', instructions: 'Count to 17.' }],
      prepareStep: () => ({ tools: [tools[0]!] })
    }
  )
  t.match((await agent.run('Go')).toolCalls, [{ result: { instructions: 'Count to 17.' } }])
  t.match(model.calls[0]?.tools, [{ name: 'load_skill' }, { name: 'look' }])
})

t.test('errors of options during a run name the agent', async (t) => {
  const badTool = () => [defineTool({ name: 'no spaces', description: '', input: {}, execute: () => 1 })]
  const bad: [options: Partial<AgentOptions>, code: string, says: RegExp][] = [
    [{ tools: () => undefined as never }, 'RUN_ERR_BAD_AGENT', /returned no list/],
    [{ tools: badTool }, 'RUN_ERR_BAD_TOOL', /name/],
    [{ prepareStep: () => ({ tools: badTool() }) }, 'RUN_ERR_BAD_TOOL', /name/],
    [{ prepareStep: () => ({ tools: [{} as never] }) }, 'RUN_ERR_BAD_AGENT', /use defineTool/],
    [{ prepareStep: () => ({ activeTools: ['other'] }) }, 'RUN_ERR_BAD_AGENT', /no tool "other"/],
    [{ prepareStep: () => ({ model: 'gpt' as never }) }, 'RUN_ERR_BAD_MODEL', /a string/],
    [{ prepareStep: () => ({ colour: 'red' }) as never }, 'RUN_ERR_BAD_AGENT', /prepareStep: colour/]
  ]
  for (const [options, code, says] of bad) {
    const error = await makeAgent('End.', options)
      .agent.run('Go')
      .catch((err: unknown) => err as Error & { code: string })
    t.match(error, { code, message: says })
    t.match(error, { message: /^agent "tester": / })
  }
  const own = new Error('of the function')
  await t.rejects(makeAgent('End.', { prepareStep: () => Promise.reject(own) }).agent.run('Go'), {
    message: 'of the function'
  })
})

t.test('tools may be a function of the run', async (t) => {
  const { agent, model } = makeAgent(({ tools: given }) => (given === undefined ? 'None.' : look), {
    tools: async ({ principal }) => (principal.scopes.includes('see') ? tools : []),
    maxSteps: 1
  })
  const see = { sub: 'ada', scopes: ['see'] }
  t.match((await agent.run('Go', { principal: see })).toolCalls, [{ toolName: 'look', result: 'look done' }])
  t.equal((await agent.run('Go')).text, 'None.')
  t.equal(model.calls.length, 2)
  t.equal(agent.describe().tools, undefined, 'unknown before the run')
  const twice = makeAgent('x', { tools: () => [tools[0]!, tools[0]!] })
  await t.rejects(twice.agent.run('Go'), { code: 'RUN_ERR_BAD_AGENT', message: /two tools "look"/ })
  for (const returned of [undefined, null, {}, 'look', new Set(tools)])
    await t.rejects(makeAgent('x', { tools: () => returned as never }).agent.run('Go'), {
      code: 'RUN_ERR_BAD_AGENT',
      message: /tools: the function returned no list/
    })
})

t.test('a session store may be an object of a class', async (t) => {
  class Sessions implements SessionStore {
    lock() {
      return () => {}
    }
    load() {
      return []
    }
    append() {}
    remove() {
      return 0
    }
    removeTurns() {}
    keys() {
      return []
    }
    sweep() {
      return 0
    }
  }
  t.equal((await collect(makeAgent('End.', { sessions: new Sessions() }).agent.stream('Go'))).text, 'End.')
})
