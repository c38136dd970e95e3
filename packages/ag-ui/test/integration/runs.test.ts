import { Type } from '@sinclair/typebox'
import type { Envelope } from '@svc/registry'
import { scriptedRunnable } from '@svc/testing'
import { Agent, defineTool, Team, Workflow } from '@svc/runtime'
import { scriptedModel } from '@svc/runtime/testing'
import t from 'tap'
import { agUiApp } from '../helpers/agui-app.ts'
import { TestAgent } from '../helpers/test-agent.ts'

const weather = defineTool({
  name: 'weather',
  description: 'The weather',
  input: Type.Object({ city: Type.String() }),
  execute: ({ city }) => ({ city, sky: 'clear' })
})

t.test('several turns: only the last message is taken, and the session keeps the others', async (t) => {
  const model = scriptedModel((_, index) => `answer ${index}`)
  const { url, runs } = await agUiApp(t, {
    add: (registry) => new Agent({ name: 'support', model, registry })
  })
  const agent = new TestAgent({ url: url('support') })
  const { result } = await agent.say('one')
  t.equal(result, undefined, 'there is no structured output')
  await agent.say('two')
  t.same(agent.said, [
    ['user', 'one'],
    ['assistant', 'answer 0'],
    ['user', 'two'],
    ['assistant', 'answer 1']
  ])
  t.match(agent.of('RUN_STARTED')[1], { threadId: agent.threadId, protocolVersion: '1.0' })
  t.match(agent.of('RUN_FINISHED')[1], {
    outcome: { type: 'success' },
    usage: [{ inputTokens: 10, outputTokens: 1, totalTokens: 11 }],
    metadata: { finishReason: 'stop' }
  })
  t.match(await runs.find(agent.runId), { sessionId: agent.threadId, status: 'completed' })
  t.same(
    model.calls[1]!.prompt.map(({ role }) => role),
    ['user', 'assistant', 'user']
  )

  const page = new TestAgent({ url: url('support'), threadId: agent.threadId })
  await page.connectAgent()
  t.same(page.said, agent.said, 'a page that is loaded later reads the thread from its start')
  t.same(page.events.slice(0, 2), [
    { ...agent.events[0], input: page.events[0]!['input'] as object },
    agent.events[1]
  ])
  await page.say('three')
  t.equal(page.text, 'answer 2')
  const unknown = new TestAgent({ url: url('support') })
  await unknown.connectAgent()
  t.same(unknown.events, [], 'a thread that has no runs is empty')
})

t.test('tools of the agent, reasoning and arguments that are streamed', async (t) => {
  const model = scriptedModel([
    {
      reasoning: ['Let me ', 'see'],
      text: 'One moment',
      toolCalls: [
        { toolName: 'weather', args: { city: 'Oslo' } },
        { toolName: 'weather', args: { city: 7 } }
      ]
    },
    { text: ['Clear ', 'in Oslo'] }
  ])
  const { url } = await agUiApp(t, {
    add: (registry) => new Agent({ name: 'support', model, registry, tools: [weather], toolCallDeltas: true })
  })
  const agent = new TestAgent({ url: url('support') })
  await agent.say('Weather?')
  t.match(agent.messages, [
    { role: 'user' },
    { role: 'reasoning', content: 'Let me see' },
    {
      role: 'assistant',
      content: 'One moment',
      toolCalls: [
        { function: { name: 'weather', arguments: '{"city":"Oslo"}' } },
        { function: { name: 'weather', arguments: '{"city":7}' } }
      ]
    },
    { role: 'tool', content: '{"city":"Oslo","sky":"clear"}' },
    { role: 'tool', content: /city/, metadata: { error: { code: String } } },
    { role: 'assistant', content: 'Clear in Oslo' }
  ])
  t.same(
    agent.of('STEP_STARTED').map(({ stepName }) => stepName as string),
    ['step-0', 'step-1']
  )
})

t.test('a thread whose runs are no longer kept is as its session has it', async (t) => {
  const model = scriptedModel([
    { text: 'One moment', toolCalls: [{ toolName: 'weather', args: { city: 'Oslo' } }] },
    'Clear in Oslo',
    'Bye'
  ])
  const { url, runs } = await agUiApp(t, {
    add: (registry) => new Agent({ name: 'support', model, registry, tools: [weather] })
  })
  const agent = new TestAgent({ url: url('support') })
  await agent.say('Weather?')
  const { runId } = agent
  await agent.say('Bye')
  await runs.stores.runs.remove(runId)
  const page = new TestAgent({ url: url('support'), threadId: agent.threadId })
  await page.connectAgent()
  t.same(page.said, agent.said)
  t.match(page.messages[1], { toolCalls: [{ function: { name: 'weather', arguments: '{"city":"Oslo"}' } }] })
  t.match(page.of('RUN_STARTED')[0], { runId, threadId: agent.threadId })
})

t.test('structured output is the result', async (t) => {
  const model = scriptedModel([{ text: '{"city":"Oslo"}' }])
  const output = Type.Object({ city: Type.String() })
  const { url } = await agUiApp(t, {
    add: (registry) => new Agent({ name: 'form', model, registry, output })
  })
  const agent = new TestAgent({ url: url('form') })
  const { result } = await agent.say('Where?')
  t.strictSame(result, { city: 'Oslo' })
  t.match(agent.of('CUSTOM'), [{ name: 'structured', value: { city: 'Oslo' } }])
})

t.test('state, citations, files and data', async (t) => {
  const script = scriptedRunnable([
    { type: 'text', text: 'See' },
    { type: 'citation', url: 'https://example.com/a', title: 'A', quote: 'q' },
    { type: 'file', url: 'https://example.com/b.png', mimeType: 'image/png', filename: 'b.png' },
    { type: 'data', name: 'chart', value: [1, 2] },
    { type: 'data', name: 'progress', value: 0.5, transient: true },
    { type: 'data', name: 'state', value: { count: 1 } },
    { type: 'data', name: 'state-delta', value: [{ op: 'replace', path: '/count', value: 2 }] },
    { type: 'data', name: 'state-delta', value: [{ op: 'spoil', path: 'count' }] },
    50
  ])
  const { url } = await agUiApp(t, { runnables: [script] })
  const agent = new TestAgent({ url: url('scripted') })
  await agent.say('Go')
  const [, said, file] = agent.messages
  t.equal(said!.content, 'See')
  t.match(file, {
    role: 'activity',
    activityType: 'file',
    content: { url: 'https://example.com/b.png', mimeType: 'image/png', filename: 'b.png' }
  })
  t.strictSame(agent.state, { count: 2 })
  t.match(agent.of('CUSTOM'), [
    {
      name: 'citation',
      value: { url: 'https://example.com/a', title: 'A', quote: 'q', messageId: said!.id }
    },
    { name: 'chart', value: [1, 2] },
    { name: 'state-delta', value: [{ op: 'spoil' }] },
    { name: 'progress', value: 0.5 }
  ])
})

t.test('what accompanies a message reaches the agent in its envelope', async (t) => {
  const seen: Envelope[] = []
  const agent = scriptedRunnable([({ envelope }) => void seen.push(envelope)])
  const { url } = await agUiApp(t, { runnables: [agent] })
  const context = [{ description: 'The page', value: 'Settings' }]
  const client = new TestAgent({ url: url('scripted'), initialState: { count: 1 } })
  await client.say('Go', { context, forwardedProps: { theme: 'dark', svc: { metadata: { a: 'b' } } } })
  t.strictSame(seen, [{ metadata: { theme: 'dark' }, context, state: { count: 1 } }])
})

t.test('members of teams and steps of workflows are subagents', async (t) => {
  const { url } = await agUiApp(t, {
    add(registry) {
      const ada = new Agent({
        name: 'ada',
        model: scriptedModel([{ toolCalls: [{ toolName: 'weather', args: { city: 'Rome' } }] }, 'Ada says']),
        registry,
        tools: [weather]
      })
      const bob = new Agent({ name: 'bob', model: scriptedModel('Bob says'), registry })
      new Team({ name: 'crew', mode: 'sequence', members: [ada, bob], registry })
      new Workflow({ name: 'flow', registry, steps: (flow) => flow.step('first', bob) })
    }
  })
  const crew = new TestAgent({ url: url('team/crew') })
  await crew.say('Go')
  t.equal(crew.text, 'Bob says')
  const [ada] = crew.of('SUBAGENT_STARTED')
  t.match(ada, { name: 'ada' })
  const { subagentRunId } = ada!
  t.match(
    crew.messages.filter((message) => message.subagentRunId === subagentRunId),
    [{ toolCalls: [{ function: { name: 'weather' } }] }, { role: 'tool' }, { content: 'Ada says' }]
  )
  t.match(crew.of('SUBAGENT_FINISHED')[0], { subagentRunId })
  const flow = new TestAgent({ url: url('workflow/flow') })
  await flow.say('Go')
  t.match(flow.of('SUBAGENT_STARTED'), [{ name: 'first' }])
  const again = new TestAgent({ url: url('workflow/flow'), threadId: flow.threadId })
  await again.connectAgent()
  t.same(again.said, flow.said, 'also of workflows, which keep no turns')
  const long = new TestAgent({ url: url('agent/bob') })
  await long.say('Hi')
  t.equal(long.text, 'Bob says', 'agents have the long path too')
})

t.test('a run that fails is an error, without what the service keeps to itself', async (t) => {
  const { url } = await agUiApp(t, {
    runnables: [
      scriptedRunnable([
        { type: 'text', text: 'So far' },
        () => {
          throw new Error('a secret of the service')
        }
      ])
    ]
  })
  const agent = new TestAgent({ url: url('scripted') })
  await agent.say('Go')
  t.equal(agent.text, 'So far')
  t.match(agent.events.at(-1), { type: 'RUN_ERROR', code: 'RUN_ERR_FAILED', metadata: { retryable: false } })
  t.notMatch(JSON.stringify(agent.events), /secret/)
})

t.test('an answer is given again, or a message is edited, on a branch of its own', async (t) => {
  const model = scriptedModel((_, index) => `answer ${index}`)
  const { url } = await agUiApp(t, { add: (registry) => new Agent({ name: 'support', model, registry }) })
  const agent = new TestAgent({ url: url('support') })
  await agent.say('one')
  await agent.say('two')
  const before = promptOf(model.calls[1]!)

  t.comment('the last answer again')
  agent.setMessages(agent.messages.slice(0, -1))
  await agent.runAgent()
  t.equal(agent.text, 'answer 2')
  t.same(promptOf(model.calls[2]!), before, 'the answer that is replaced is not in the prompt')

  t.comment('another first message')
  agent.setMessages([])
  await agent.say('uno', { forwardedProps: { svc: { afterTurn: null } } })
  t.same(promptOf(model.calls[3]!), ['uno'])
  await agent.say('due')
  t.same(promptOf(model.calls[4]!), ['uno', 'answer 3', 'due'], 'the thread continues on the new branch')
  const page = new TestAgent({ url: url('support'), threadId: agent.threadId })
  await page.connectAgent()
  t.same(page.said, agent.said)

  t.comment('a page that shows less than the session has')
  const other = new TestAgent({ url: url('support'), threadId: agent.threadId })
  await other.say('tre')
  t.same(
    promptOf(model.calls[5]!),
    ['uno', 'answer 3', 'due', 'answer 4', 'tre'],
    'without answers: the newest turn'
  )
})

function promptOf({ prompt }: { prompt: readonly { content: unknown }[] }): string[] {
  return prompt.map(({ content }) => (content as { text?: string }[]).map(({ text = '' }) => text).join(''))
}

t.test('a page that runs its agent before the user has said anything gets a run that ends', async (t) => {
  const model = scriptedModel(['Hello'])
  const { url, runs } = await agUiApp(t, {
    add: (registry) => new Agent({ name: 'support', model, registry })
  })
  const agent = new TestAgent({ url: url('support') })
  await agent.runAgent()
  t.same(
    agent.events.map(({ type }) => type),
    ['RUN_STARTED', 'RUN_FINISHED']
  )
  t.match(agent.of('RUN_FINISHED'), [{ threadId: agent.threadId, outcome: { type: 'success' } }])
  agent.addMessage({ id: 'm0', role: 'system', content: 'Be kind' })
  await agent.runAgent()
  t.equal(model.calls.length, 0)
  t.equal(runs.active, 0)
  await agent.say('Hi')
  t.equal(agent.text, 'Hello', 'and then talks to it')
  const unknown = new TestAgent({ url: url('none') })
  await t.rejects(unknown.runAgent(), /AGUI_ERR_UNKNOWN_RUNNABLE|No agent/)
})

t.test(
  'each call that the agent has executed has its result: nothing of it is left for the client',
  async (t) => {
    const two = {
      toolCalls: [
        { toolName: 'weather', args: { city: 'Oslo' } },
        { toolName: 'weather', args: { city: 'Rome' } }
      ]
    }
    const { url } = await agUiApp(t, {
      add: (registry) =>
        new Agent({ name: 'support', model: scriptedModel([two, 'Clear']), registry, tools: [weather] }),
      options: { clientTools: true }
    })
    const agent = new TestAgent({ url: url('support') })
    const tools = [
      { name: 'locate', description: 'Where the user is', parameters: { type: 'object', properties: {} } }
    ]
    await agent.say('Weather?', { tools })
    const calls = agent.messages.flatMap((message) =>
      message.role === 'assistant' ? (message.toolCalls ?? []) : []
    )
    const results = agent.messages.flatMap((message) => (message.role === 'tool' ? [message.toolCallId] : []))
    t.equal(calls.length, 2)
    t.strictSame(
      calls.map(({ id }) => id),
      results
    )
    t.match(agent.of('RUN_FINISHED'), [{ outcome: { type: 'success' } }])
    t.notOk('pendingToolCallIds' in (agent.of('RUN_FINISHED')[0]!['outcome'] as object))
  }
)
