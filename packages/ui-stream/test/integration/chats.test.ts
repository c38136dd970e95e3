import { Type } from '@sinclair/typebox'
import { scriptedRunnable } from '@svc/testing'
import { Agent, defineTool, Team, Workflow } from '@svc/runtime'
import { scriptedModel } from '@svc/runtime/testing'
import t from 'tap'
import { chatApp } from '../helpers/chat-app.ts'
import { TestChat, textOf, type TestMessage } from '../helpers/test-chat.ts'

const weather = defineTool({
  name: 'weather',
  description: 'The weather',
  input: Type.Object({ city: Type.String() }),
  execute: ({ city }) => ({ city, sky: 'clear' })
})

t.test('several turns: only the last message is taken, and the session keeps the others', async (t) => {
  const model = scriptedModel(['Hello', 'Again'])
  const { api } = await chatApp(t, { add: (registry) => new Agent({ name: 'support', model, registry }) })
  const chat = new TestChat(api('support'))
  await chat.sendMessage({ text: 'Hi' })
  t.equal(chat.status, 'ready')
  t.equal(chat.text, 'Hello')
  const { runId, usage, finishReason, status } = chat.lastMessage!.metadata!
  t.equal(chat.lastMessage!.id, runId)
  t.match(
    { usage, finishReason, status },
    { usage: { totalTokens: 11 }, finishReason: 'stop', status: 'completed' }
  )
  await chat.sendMessage({ text: 'And?' })
  t.equal(chat.text, 'Again')
  t.same(
    model.calls[1]!.prompt.map(({ role }) => role),
    ['user', 'assistant', 'user']
  )

  t.comment('a page restores the chat')
  const { messages, nextCursor } = (await (await fetch(`${api('support')}/${chat.id}`)).json()) as {
    messages: TestMessage[]
    nextCursor: null
  }
  t.equal(nextCursor, null)
  t.same(messages.map(textOf), ['Hi', 'Hello', 'And?', 'Again'])
  t.strictSame(plain(messages[3]), plain(chat.lastMessage), 'an answer is as it was streamed')
  const restored = new TestChat(api('support'), { id: chat.id, messages })
  await restored.resumeStream()
  t.equal(restored.status, 'ready', 'nothing runs')
})

t.test('tools of the agent, reasoning and arguments that are streamed', async (t) => {
  const model = scriptedModel([
    { reasoning: ['I must ', 'look'], toolCalls: [{ toolName: 'weather', args: { city: 'Oslo' } }] },
    { text: ['It is ', 'clear'] }
  ])
  const { api } = await chatApp(t, {
    add: (registry) => new Agent({ name: 'support', model, registry, tools: [weather], toolCallDeltas: true })
  })
  const called: string[] = []
  const chat = new TestChat(api('support'), {
    onToolCall: ({ toolCall }) => void called.push(toolCall.toolName)
  })
  await chat.sendMessage({ text: 'Weather?' })
  t.match(chat.lastMessage!.parts, [
    { type: 'step-start' },
    { type: 'reasoning', text: 'I must look', state: 'done' },
    {
      type: 'tool-weather',
      state: 'output-available',
      input: { city: 'Oslo' },
      output: { city: 'Oslo', sky: 'clear' },
      providerExecuted: true
    },
    { type: 'step-start' },
    { type: 'text', text: 'It is clear', state: 'done' }
  ])
  t.same(called, [], 'the page is not asked to serve it')
})

t.test('a tool that fails is an error of its part', async (t) => {
  const model = scriptedModel([{ toolCalls: [{ toolName: 'weather', args: { city: 7 } }] }, 'Sorry'])
  const { api } = await chatApp(t, {
    add: (registry) => new Agent({ name: 'support', model, registry, tools: [weather] })
  })
  const chat = new TestChat(api('support'))
  await chat.sendMessage({ text: 'Weather?' })
  t.match(chat.lastMessage!.parts[1], { state: 'output-error', errorText: /city/ })
  t.equal(chat.text, 'Sorry')
})

t.test('structured output is a data part', async (t) => {
  const model = scriptedModel([{ text: '{"city":"Oslo"}' }])
  const output = Type.Object({ city: Type.String() })
  const { api } = await chatApp(t, {
    add: (registry) => new Agent({ name: 'form', model, registry, output })
  })
  const chat = new TestChat(api('form'))
  await chat.sendMessage({ text: 'Where?' })
  t.match(chat.lastMessage!.parts.at(-1), { type: 'data-structured', data: { city: 'Oslo' } })
})

t.test('citations, files, data and messages that join a run', async (t) => {
  const script = scriptedRunnable(
    [
      { type: 'text', text: 'See' },
      { type: 'citation', url: 'https://example.com/a', title: 'A', quote: 'q' },
      { type: 'citation', documentId: 'doc-1', title: 'B' },
      { type: 'file', url: 'https://example.com/b.png', mimeType: 'image/png', filename: 'b.png' },
      { type: 'data', name: 'chart', value: [1, 2] },
      { type: 'data', name: 'progress', value: 0.5, transient: true },
      50
    ],
    { name: 'scripted' }
  )
  const { api } = await chatApp(t, { runnables: [script] })
  const seen: unknown[] = []
  const chat = new TestChat(api('scripted'), { onData: ({ type, data }) => void seen.push([type, data]) })
  await chat.sendMessage({ text: 'Go' })
  t.match(chat.lastMessage!.parts, [
    { type: 'text', text: 'See', state: 'done' },
    {
      type: 'source-url',
      url: 'https://example.com/a',
      title: 'A',
      providerMetadata: { svc: { quote: 'q' } }
    },
    { type: 'source-document', sourceId: 'doc-1', title: 'B' },
    { type: 'file', url: 'https://example.com/b.png', mediaType: 'image/png' },
    { type: 'data-chart', data: [1, 2] }
  ])
  t.same(chat.lastMessage!.parts.length, 5, 'what is transient is in no message')
  t.strictSame(seen, [
    ['data-chart', [1, 2]],
    ['data-progress', 0.5]
  ])
})

t.test('teams and workflows: members speak in data parts, their tools are parts', async (t) => {
  const { api } = await chatApp(t, {
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
  const crew = new TestChat(api('team/crew'))
  await crew.sendMessage({ text: 'Go' })
  t.equal(crew.text, 'Bob says')
  t.match(
    crew.lastMessage!.parts.find(({ type }) => type === 'tool-weather'),
    { state: 'output-available', toolMetadata: { source: ['ada'] } }
  )
  t.match(
    crew.lastMessage!.parts.find(({ type }) => type === 'data-member'),
    { data: { source: ['ada'], text: 'Ada says' } }
  )
  const flow = new TestChat(api('workflow/flow'))
  await flow.sendMessage({ text: 'Go' })
  t.match(
    flow.lastMessage!.parts.find(({ type }) => type === 'data-member'),
    { data: { source: ['first'], text: 'Bob says' } }
  )
  t.match(
    (await (await fetch(`${api('agent/ada')}/none`)).json()) as object,
    { code: 'RUN_ERR_SESSION_NOT_FOUND' },
    'agents have the long path too'
  )
})

t.test('a run that fails is an error of the chat, with its code in the message', async (t) => {
  const { api } = await chatApp(t, {
    runnables: [
      scriptedRunnable([
        { type: 'text', text: 'So far' },
        () => {
          throw new Error('a secret of the service')
        }
      ])
    ]
  })
  const chat = new TestChat(api('scripted'))
  await chat.sendMessage({ text: 'Go' })
  t.equal(chat.status, 'error')
  t.notMatch(chat.error!.message, /secret/)
  t.match(chat.lastMessage!.metadata, { status: 'failed', error: { code: 'RUN_ERR_FAILED' } })
  t.equal(chat.text, 'So far')
})

t.test('a message is answered again, or edited, on a branch of its own', async (t) => {
  const model = scriptedModel((_, index) => `answer ${index}`)
  const { api } = await chatApp(t, { add: (registry) => new Agent({ name: 'support', model, registry }) })
  const chat = new TestChat(api('support'))
  await chat.sendMessage({ text: 'one' })
  await chat.sendMessage({ text: 'two' })
  const before = promptOf(model.calls[1]!)
  await chat.regenerate()
  t.equal(chat.text, 'answer 2')
  t.same(promptOf(model.calls[2]!), before, 'the answer that is replaced is not in the prompt')
  t.same(chat.messages.map(textOf), ['one', 'answer 0', 'two', 'answer 2'])

  const [first] = chat.messages
  await chat.sendMessage({ text: 'uno', messageId: first!.id })
  t.same(chat.messages.map(textOf), ['uno', 'answer 3'])
  t.same(promptOf(model.calls[3]!), ['uno'], 'nothing comes before it')

  await chat.sendMessage({ text: 'due' })
  t.same(promptOf(model.calls[4]!), ['uno', 'answer 3', 'due'], 'the chat continues on the new branch')
  const read = async (query = '') =>
    (
      (await (await fetch(`${api('support')}/${chat.id}${query}`)).json()) as {
        messages: TestMessage[]
      }
    ).messages
  t.same((await read()).map(textOf), ['uno', 'answer 3', 'due', 'answer 4'])
  const [replaced] = model.calls
  t.ok(replaced)
  t.same((await read('?limit=1')).map(textOf), ['due', 'answer 4'], 'pages have whole turns')
})

t.test('what is answered again is of a chat that exists', async (t) => {
  const { api, runs } = await chatApp(t, {
    add: (registry) => new Agent({ name: 'support', model: scriptedModel(() => 'Hello'), registry })
  })
  const user = { id: 'u', role: 'user', parts: [{ type: 'text', text: 'Hi' }] }
  const answer = { id: 'a', role: 'assistant', parts: [{ type: 'text', text: 'Hello' }] }
  const regenerate = (id: string, more: object) =>
    fetch(api('support'), {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ id, trigger: 'regenerate-message', messages: [user], ...more })
    })
  for (const more of [{ messageId: 'a' }, { messages: [user, answer, { ...user, id: 'v' }] }]) {
    const refused = await regenerate('unknown', more)
    t.match([refused.status, await refused.json()], [404, { code: 'RUN_ERR_SESSION_NOT_FOUND' }])
  }
  t.equal((await runs.list({ limit: 9 })).runs.length, 0, 'nothing was started')

  const repeated = await regenerate('first', {})
  t.equal(repeated.status, 200, 'a first message that was refused is sent so again')
  await repeated.text()
  t.equal((await regenerate('first', { messageId: 'a' })).status, 200)
})

function promptOf({ prompt }: { prompt: readonly { content: unknown }[] }): string[] {
  return prompt.map(({ content }) => (content as { text?: string }[]).map(({ text = '' }) => text).join(''))
}

function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value))
}
