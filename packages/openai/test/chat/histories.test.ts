import { Type } from '@sinclair/typebox'
import { defineRunnable, type ContentPart } from '@svc/registry'
import type { ChatCompletionMessageParam } from 'openai/resources/chat/completions'
import { PNG, seeing } from '@tools/wires/agents'
import t from 'tap'
import { supportAgent } from '../helpers/agents.ts'
import { openAiApp } from '../helpers/openai-app.ts'
import { postCompletion, said } from './helpers/completions.ts'

t.test('the client keeps the conversation: all of it reaches the model, and no session does', async (t) => {
  const { add, model } = supportAgent((_, index) => `answer ${index}`, { instructions: 'Be kind' })
  const { client: clientOf, runs } = await openAiApp(t, { add })
  const client = clientOf()
  const history: ChatCompletionMessageParam[] = [
    { role: 'system', content: 'Speak briefly' },
    { role: 'user', content: [{ type: 'text', text: 'Hi' }] },
    {
      role: 'assistant',
      content: 'A moment',
      tool_calls: [{ id: 'c1', type: 'function', function: { name: 'look', arguments: '{"at":1}' } }]
    },
    { role: 'tool', tool_call_id: 'c1', content: '{"found":true}' },
    { role: 'assistant', content: [{ type: 'text', text: 'Found' }] },
    { role: 'developer', content: 'Use words' },
    { role: 'user', content: 'And?', name: 'ann' }
  ]
  const { choices } = await client.chat.completions.create({
    model: 'support',
    messages: history,
    metadata: { room: '7' }
  })
  t.equal(choices[0]!.message.content, 'answer 0')
  const [system, ...rest] = model.calls[0]!.prompt
  t.match(system, { role: 'system', content: /Be kind[\s\S]*Speak briefly[\s\S]*Use words/ })
  t.match(rest, [
    { role: 'user', content: [{ text: 'Hi' }] },
    { role: 'assistant', content: [{ text: 'A moment' }, { toolName: 'look', input: { at: 1 } }] },
    { role: 'tool', content: [{ output: { value: { found: true } } }] },
    { role: 'assistant', content: [{ text: 'Found' }] },
    { role: 'user', content: [{ text: 'And?' }] }
  ])
  await client.chat.completions.create({ model: 'support', messages: said('New') })
  t.equal(model.calls[1]!.prompt.length, 2, 'another conversation')
  const { runs: listed } = await runs.list({ limit: 10 })
  t.match(
    listed.map(({ metadata }) => metadata),
    [null, { room: '7' }]
  )
})

t.test('requests as Open WebUI, LibreChat and n8n send them', async (t) => {
  const { add, model } = supportAgent('Fine')
  const app = await openAiApp(t, { add })
  const call = { id: 'call_1', type: 'function', function: { name: 'search', arguments: '{"q":"x"}' } }
  const tool = {
    type: 'function',
    function: { name: 'search', description: 'Searches', parameters: { type: 'object' }, strict: false }
  }
  const bodies = {
    'Open WebUI': {
      stream: true,
      stream_options: { include_usage: true },
      max_tokens: 128,
      messages: [
        { role: 'system', content: 'You help' },
        { role: 'user', content: 'Hi' },
        { role: 'assistant', content: 'Hello' },
        { role: 'user', content: [{ type: 'text', text: 'And now?' }] }
      ]
    },
    LibreChat: {
      stream: true,
      user: '65f0c0ffee',
      temperature: 1,
      top_p: 1,
      presence_penalty: 0,
      frequency_penalty: 0,
      messages: [
        { role: 'user', content: 'Hi' },
        { role: 'assistant', content: '', tool_calls: [call], name: 'support' },
        { role: 'tool', content: 'found', tool_call_id: 'call_1', name: 'search' },
        { role: 'assistant', content: 'Found' },
        { role: 'user', content: 'And now?' }
      ]
    },
    n8n: {
      n: 1,
      stream: false,
      temperature: 0.7,
      parallel_tool_calls: true,
      tool_choice: 'auto',
      response_format: { type: 'text' },
      tools: [tool],
      messages: [
        { role: 'system', content: 'You help' },
        { role: 'user', content: 'Hi' },
        { role: 'assistant', content: null, tool_calls: [call] },
        { role: 'tool', content: 'found', tool_call_id: 'call_1' }
      ]
    }
  }
  for (const [client, body] of Object.entries(bodies)) {
    const response = await postCompletion(app, { model: 'support', ...body })
    t.match([response.status, await response.text()], [200, /Fine/], client)
    const roles = body.messages.map(({ role }) => role).filter((role) => role !== 'system')
    t.same(
      model.calls
        .at(-1)!
        .prompt.map(({ role }) => role)
        .filter((role) => role !== 'system'),
      roles
    )
  }
})

t.test('a history that ends with results of tools nobody waits for is answered by a new run', async (t) => {
  const { add, model } = supportAgent('Clear')
  const client = (await openAiApp(t, { add })).client()
  const call = { id: 'gone', type: 'function' as const, function: { name: 'sky', arguments: '' } }
  const { choices } = await client.chat.completions.create({
    model: 'support',
    messages: [
      { role: 'user', content: 'Sky?' },
      { role: 'assistant', content: null, tool_calls: [call] },
      { role: 'tool', tool_call_id: 'gone', content: 'clear' }
    ]
  })
  t.equal(choices[0]!.message.content, 'Clear')
  t.match(model.calls[0]!.prompt.at(-1), { role: 'tool', content: [{ toolCallId: 'gone' }] })
})

t.test('images, audio and files are content of the input', async (t) => {
  const { agent: eyes, inputs } = seeing()
  const client = (await openAiApp(t, { runnables: [eyes] })).client()
  await client.chat.completions.create({
    model: 'eyes',
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Look' },
          { type: 'image_url', image_url: { url: `data:image/png;base64,${PNG}` } },
          { type: 'image_url', image_url: { url: 'https://example.com/a.jpg', detail: 'low' } },
          { type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } },
          { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,AAAA' } }
        ]
      }
    ]
  })
  t.strictSame(inputs, [
    [
      { type: 'text', text: 'Look' },
      { type: 'image', mimeType: 'image/png', data: PNG },
      { type: 'image', mimeType: 'image/jpeg', url: 'https://example.com/a.jpg' },
      { type: 'audio', mimeType: 'audio/wav', data: 'AAAA' },
      { type: 'file', mimeType: 'application/pdf', filename: 'a.pdf', data: 'AAAA' }
    ] satisfies ContentPart[]
  ])
})

t.test('a runnable with an input schema takes the last message as JSON', async (t) => {
  const flow = defineRunnable({
    kind: 'workflow',
    name: 'flow',
    inputSchema: Type.Object({ n: Type.Number() }),
    run: async (input) => `n is ${String((input as { n: number }).n)}`
  })
  const client = (await openAiApp(t, { runnables: [flow] })).client()
  const ask = (content: string) =>
    client.chat.completions.create({ model: 'workflow/flow', messages: said(content) })
  t.equal((await ask('{"n":1}')).choices[0]!.message.content, 'n is 1')
  await t.rejects(ask('{"n":"x"}'), { status: 400, code: 'RUN_ERR_BAD_INPUT' })
  await t.rejects(ask('n=1'), { status: 400, code: 'OPENAI_ERR_BAD_REQUEST' })
})
