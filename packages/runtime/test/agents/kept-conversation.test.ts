import { createInProcessStores, createRunEngine, type SessionMessage } from '@svc/registry'
import { Agent, defineSkill, defineTool, Team, windowMemory } from '@svc/runtime'
import { scriptedModel, type ScriptedModel } from '@svc/runtime/testing'
import t from 'tap'

const off = { register: false } as const
const called: SessionMessage = {
  role: 'assistant',
  text: 'Let me look.',
  toolCalls: [
    { toolCallId: 'c1', toolName: 'weather', args: { city: 'Rome' } },
    { toolCallId: 'c2', toolName: 'weather', args: { city: 'Oslo' } }
  ]
}
const user = (content: string): SessionMessage => ({ role: 'user', content })
const results: SessionMessage[] = [
  { role: 'tool', toolCallId: 'c2', toolName: 'weather', error: { code: 'X', message: 'no data' } },
  { role: 'tool', toolCallId: 'c1', toolName: 'weather', result: { degrees: 21 } }
]
const asked = (text: string) => ({ role: 'user', content: [{ type: 'text', text }] })
const promptsOf = ({ calls }: ScriptedModel) => calls.map(({ prompt }) => prompt)

t.test('the prompt is the kept conversation and the input; no session is loaded or saved', async (t) => {
  const stores = createInProcessStores()
  const refuse = () => {
    throw new Error('a session was used')
  }
  const sessions = { ...stores.sessions, lock: refuse, load: refuse, append: refuse }
  const model = scriptedModel(['Fine.'])
  const agent = new Agent({
    name: 'a',
    model,
    instructions: 'Be kind.',
    history: { compact: false, maxMessages: 1 },
    ...off
  })
  const engine = createRunEngine({ stores: { ...stores, sessions } })
  t.teardown(() => engine.close())
  const messages = [user('Hi'), { role: 'assistant' as const, text: 'Hello' }]
  const run = await engine.start(agent, 'How are you?', { messages })
  t.match(await run.result(), { text: 'Fine.' })
  t.strictSame(promptsOf(model), [
    [
      { role: 'system', content: 'Be kind.' },
      asked('Hi'),
      { role: 'assistant', content: [{ type: 'text', text: 'Hello' }] },
      asked('How are you?')
    ]
  ])
})

t.test('without an input the last message is answered, or the results of tool calls are', async (t) => {
  const model = scriptedModel('Fine.')
  const agent = new Agent({ name: 'a', model, ...off })
  await agent.run(undefined, { messages: [user('Hi'), { role: 'assistant', text: 'Hello' }, user('Well?')] })
  await agent.run(undefined, { messages: [user('Weather?'), called, ...results] })
  const [last, continued] = promptsOf(model)
  t.strictSame(last?.at(-1), asked('Well?'))
  t.equal(last?.length, 3)
  t.match(continued, [
    { role: 'user' },
    { role: 'assistant', content: [{ type: 'text' }, { type: 'tool-call' }, { type: 'tool-call' }] },
    {
      role: 'tool',
      content: [
        { toolCallId: 'c2', output: { type: 'error-text', value: 'no data' } },
        { toolCallId: 'c1', output: { type: 'json', value: { degrees: 21 } } }
      ]
    }
  ])
  t.equal(continued?.length, 3)
})

t.test('a run with tools continues a kept conversation', async (t) => {
  const model = scriptedModel([{ toolCalls: [{ toolName: 'add', args: {} }] }, 'Three.'])
  const add = defineTool({ name: 'add', description: '', input: { type: 'object' }, execute: () => 3 })
  const agent = new Agent({ name: 'a', model, tools: [add], ...off })
  const { text } = await agent.run('1 + 2?', { messages: [user('Hi'), { role: 'assistant', text: 'Hello' }] })
  t.equal(text, 'Three.')
  t.strictSame(
    promptsOf(model)[1]?.map(({ role }) => role),
    ['user', 'assistant', 'user', 'assistant', 'tool']
  )
})

t.test('instructions of the caller follow those of the agent, in every step', async (t) => {
  const model = scriptedModel([{ toolCalls: [{ toolName: 'load_skill', args: { name: 's' } }] }, 'Done.'])
  const skills = [defineSkill({ name: 's', description: 'A skill', instructions: 'Do it' })]
  const prepareStep = ({ stepNumber }: { stepNumber: number }) =>
    stepNumber === 1 ? { instructions: 'Only now.' } : undefined
  const agent = new Agent({ name: 'a', model, instructions: 'Be kind.', skills, prepareStep, ...off })
  await agent.run('Hi', { instructions: 'Be brief.' })
  const systems = promptsOf(model).map(([first]) => first?.role === 'system' && first.content)
  t.match(systems[0], /^Be kind\.\n\nSkills\.[^]*\n\nBe brief\.$/)
  t.match(systems[1], /^Only now\.\n\nSkills\.[^]*\n\nBe brief\.$/)
})

t.test(
  'the memory stores the question that the results answer; without a message there is nothing to retrieve for',
  async (t) => {
    const seen: string[] = []
    const memory = {
      retrieve: (_: unknown, input: string) => void seen.push(input) as undefined,
      store: (_: unknown, turn: { input: string; text: string }) => (seen.push(turn.input, turn.text), [])
    }
    const agent = new Agent({ name: 'a', model: scriptedModel('Warm.'), memory, ...off })
    await agent.run(undefined, { messages: [user('Weather?'), called, ...results] })
    t.strictSame(seen, ['Weather?', 'Warm.'])
    await agent.run(undefined, { messages: [user('Weather?')] })
    t.strictSame(seen.slice(2), ['Weather?', 'Weather?', 'Warm.'])
    const withWindow = new Agent({ name: 'b', model: scriptedModel('Warm.'), memory: windowMemory(), ...off })
    t.match(await withWindow.run(undefined, { messages: [user('?'), called, ...results] }), { text: 'Warm.' })
  }
)

t.test(
  'the members that answer the caller get the conversation and the instructions; others do not',
  async (t) => {
    const options = {
      messages: [user('Hi'), { role: 'assistant' as const, text: 'Hello' }],
      instructions: 'Be brief.'
    }
    const seen = async (mode: 'coordinate' | 'route' | 'parallel' | 'sequence') => {
      const models = [scriptedModel('One.'), scriptedModel('Two.')] as const
      const members = models.map((model, index) => new Agent({ name: `m${index}`, model, ...off }))
      const leader = scriptedModel(
        mode === 'route'
          ? [{ toolCalls: [{ toolName: 'route', args: { member: 'm1' } }] }]
          : [{ toolCalls: [{ toolName: 'm0', args: { message: 'Ask' } }] }, 'Done.']
      )
      const team = new Team({
        name: mode,
        mode,
        members,
        ...(mode === 'parallel' && { merge: () => 'Merged.' }),
        ...((mode === 'coordinate' || mode === 'route') && { model: leader }),
        ...off
      } as never)
      await team.run('Go', options)
      return [leader, ...models].map(
        (model) =>
          promptsOf(model)[0]
            ?.map(({ role }) => role)
            .join(' ') ?? ''
      )
    }
    const all = 'system user assistant user'
    t.strictSame(await seen('coordinate'), [all, 'user', ''])
    t.strictSame(await seen('route'), [all, '', all])
    t.strictSame(await seen('parallel'), ['', all, all])
    t.strictSame(await seen('sequence'), ['', all, 'user'])
  }
)

t.test('bad options are refused without an engine, too', async (t) => {
  const agent = new Agent({ name: 'a', model: scriptedModel('Hi'), ...off })
  const bad = { code: 'RUN_ERR_BAD_INPUT' }
  await t.rejects(agent.run('x', { messages: [called] }), bad)
  await t.rejects(agent.run('x', { messages: [user('x')], sessionId: 's' }), bad)
  await t.rejects(agent.run(undefined, { messages: [] }), bad)
  await t.rejects(agent.run('x', { metadata: { a: 1 } as never }), bad)
  const cyclic: unknown[] = []
  cyclic.push(cyclic)
  await t.rejects(agent.run('x', { messages: cyclic as never }), bad)
  await t.rejects(agent.run('x', { tools: [{ name: 'a' }] as never }), bad)
})
