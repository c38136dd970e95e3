import type {
  ResponseFunctionToolCall,
  ResponseInputItem,
  ResponseOutputItem
} from 'openai/resources/responses/responses'
import { callsOf } from '@tools/wires/agents'
import t from 'tap'
import { openAiApp } from '../helpers/openai-app.ts'
import { locate, promptOf, supportAgent } from '../helpers/agents.ts'

const model = 'support'

t.test('tools of the agent are calls of the service, each with its output', async (t) => {
  const { add } = supportAgent([callsOf(['weather', { city: 'Oslo' }]), 'It is clear'], {
    toolCallDeltas: true
  })
  const { client } = await openAiApp(t, { add })
  const stream = client().responses.stream({ model, input: 'Weather?' })
  const { output, output_text: text } = await stream.finalResponse()
  t.equal(text, 'It is clear')
  t.match(output, [
    {
      type: 'mcp_call',
      server_label: 'support',
      name: 'weather',
      arguments: '{"city":"Oslo"}',
      output: '{"city":"Oslo","sky":"clear"}',
      error: null,
      approval_request_id: null,
      status: 'completed'
    },
    { type: 'message' }
  ])
})

t.test('calls of the service are told in their own events, or not at all', async (t) => {
  const script = [{ text: 'Hm', ...callsOf(['weather', { city: 'Oslo' }], ['send', { to: 'ann' }]) }, 'Clear']
  const { add } = supportAgent(script, { toolCallDeltas: true })
  const { client } = await openAiApp(t, { add })
  const stream = await client().responses.create({ model, input: 'Weather?', stream: true })
  const ofCall: string[] = []
  for await (const event of stream) {
    const isCall = 'item' in event ? event.item.type === 'mcp_call' : event.type.includes('mcp_call')
    if (isCall) ofCall.push(event.type)
  }
  t.same(
    [...new Set(ofCall)],
    [
      'response.output_item.added',
      'response.mcp_call.in_progress',
      'response.mcp_call_arguments.delta',
      'response.mcp_call_arguments.done',
      'response.mcp_call.completed',
      'response.output_item.done'
    ]
  )

  const { add: again } = supportAgent(script)
  const silent = await openAiApp(t, { add: again, options: { toolCalls: 'none' } })
  const asked = await silent.client().responses.create({ model, input: 'Weather?' })
  t.match(
    asked.output.map(({ type }) => type),
    ['message', 'mcp_approval_request'],
    'what needs an answer is there'
  )
  t.equal(asked.output.length, 2)
})

t.test('a tool that fails has its error', async (t) => {
  const { add } = supportAgent([callsOf(['weather', { city: 7 }]), 'Sorry'])
  const { client } = await openAiApp(t, { add })
  const { output } = await client().responses.create({ model, input: 'Weather?' })
  t.match(output[0], {
    type: 'mcp_call',
    status: 'failed',
    output: null,
    error: /^RUN_ERR_TOOL_BAD_ARGS: .*city/
  })
})

t.test('tools of the client: the same run continues with their outputs', async (t) => {
  const script = [
    callsOf(['locate', { exact: true }], ['weather', { city: 'Oslo' }]),
    callsOf(['locate', {}]),
    'There'
  ]
  const { add, model: scripted } = supportAgent(script)
  const { client, runs } = await openAiApp(t, { add })
  const openai = client()
  const tools = [locate]
  const first = await openai.responses.create({ model, input: 'Where am I?', tools })
  t.equal(first.status, 'completed')
  const [call] = callsIn(first.output, 'locate')
  t.match(first.output.map(({ type }) => type).toSorted(), ['function_call', 'mcp_call'])
  t.match(first.tools, [locate])
  t.equal((await runs.find(runOf(first.id)))!.status, 'input-required')

  const stream = openai.responses.stream({
    model,
    tools,
    previous_response_id: first.id,
    input: [outputOf(call!, { city: 'Oslo' })]
  })
  const second = await stream.finalResponse()
  t.match(second, { status: 'completed', previous_response_id: first.id })
  t.not(second.id, first.id)
  const [again] = callsIn(second.output, 'locate')
  t.not(again!.call_id, call!.call_id, 'an id that is used again is another one')
  const third = await openai.responses.create({
    model,
    previous_response_id: second.id,
    input: [{ ...outputOf(again!, 'unknown'), status: 'incomplete' }]
  })
  t.equal(third.output_text, 'There')
  t.equal(runOf(third.id), runOf(first.id))
  t.match(JSON.stringify(scripted.calls[1]!.prompt), /Oslo/)
  t.match(third.usage, { total_tokens: 11 }, 'its own tokens')

  t.comment('each of them is found later')
  for (const each of [first, second, third]) {
    const found = await openai.responses.retrieve(each.id)
    t.same([found.id, plain(found.output)], [each.id, plain(each.output)])
  }
  const items = async (id: string) => (await openai.responses.inputItems.list(id)).data
  t.match(await items(first.id), [{ type: 'message', role: 'user', content: [{ text: 'Where am I?' }] }])
  t.match(await items(second.id), [
    { type: 'function_call_output', call_id: call!.call_id, output: '{"city":"Oslo"}' }
  ])
  t.match(await items(third.id), [{ call_id: again!.call_id, output: /RUN_ERR/ }])

  t.comment('a request that is sent again gets the response that followed')
  const replayed = await openai.responses.create({
    model,
    previous_response_id: first.id,
    input: [outputOf(call!, { city: 'Rome' })]
  })
  t.same([replayed.id, plain(replayed.output)], [second.id, plain(second.output)])
})

t.test('a client that keeps the conversation answers with all of it', async (t) => {
  const { add, model: scripted } = supportAgent([
    callsOf(['locate', {}]),
    callsOf(['locate', {}]),
    'Fine',
    'Again'
  ])
  const { client } = await openAiApp(t, { add })
  const openai = client()
  const input: ResponseInputItem[] = [{ role: 'user', content: 'Where?' }]
  const tools = [locate]
  let response = await openai.responses.create({ model, input, tools, store: false })
  for (const city of ['Oslo', 'Rome']) {
    input.push(...(response.output as ResponseInputItem[]))
    for (const call of callsIn(response.output, 'locate')) input.push(outputOf(call, { city }))
    response = await openai.responses.create({ model, input, tools, store: false })
  }
  t.equal(response.output_text, 'Fine')
  t.match(JSON.stringify(scripted.calls[2]!.prompt), /Oslo.*Rome/)
  input.push(...(response.output as ResponseInputItem[]), { role: 'user', content: 'And now?' })
  response = await openai.responses.create({ model, input, tools, store: false })
  t.equal(response.output_text, 'Again')
  t.equal(scripted.calls[3]!.prompt.filter(({ role }) => role === 'tool').length, 2)
})

t.test('approvals are given and refused', async (t) => {
  const { add } = supportAgent([callsOf(['send', { to: 'ann' }], ['send', { to: 'bob' }]), 'Done'])
  const { client } = await openAiApp(t, { add })
  const openai = client()
  const first = await openai.responses.stream({ model, input: 'Mail both' }).finalResponse()
  const requests = first.output.filter((item) => item.type === 'mcp_approval_request')
  t.equal(requests.length, first.output.length, 'a call that waits is not there yet')
  t.match(requests, [
    { server_label: 'support', name: 'send', arguments: '{"to":"ann"}' },
    { server_label: 'support', name: 'send', arguments: '{"to":"bob"}' }
  ])
  const [ann, bob] = requests.map(({ id }) => id)
  const respond = (input: ResponseInputItem[]) =>
    openai.responses.create({ model, previous_response_id: first.id, input })
  const approve = { type: 'mcp_approval_response', approval_request_id: ann!, approve: true } as const
  await t.rejects(respond([approve]), { status: 400, code: 'OPENAI_ERR_UNANSWERED' })
  const second = await respond([
    approve,
    { type: 'mcp_approval_response', approval_request_id: bob!, approve: false, reason: 'Not him' }
  ])
  t.match(second.output, [
    { type: 'mcp_call', approval_request_id: ann!, output: 'sent to ann' },
    { type: 'mcp_call', approval_request_id: bob!, error: /^RUN_ERR_APPROVAL_DENIED: .*Not him/ },
    { type: 'message', content: [{ text: 'Done' }] }
  ])
  t.match((await openai.responses.inputItems.list(second.id, { order: 'asc' })).data, [
    { type: 'mcp_approval_response', approve: true },
    { type: 'mcp_approval_response', approve: false, reason: 'Not him' }
  ])
  const pages: string[] = []
  for await (const item of openai.responses.inputItems.list(second.id, { limit: 1 })) pages.push(item.id!)
  t.equal(new Set(pages).size, 2)
})

t.test('an answer of another surface counts', async (t) => {
  const { add } = supportAgent([callsOf(['send', { to: 'ann' }], ['send', { to: 'bob' }]), 'Done'])
  const { client, runs } = await openAiApp(t, { add })
  const openai = client()
  const first = await openai.responses.create({ model, input: 'Mail both' })
  const [ann, bob] = first.output.flatMap((item) => (item.type === 'mcp_approval_request' ? [item.id] : []))
  await runs.answer(ann!, { approved: true })
  const second = await openai.responses.create({
    model,
    previous_response_id: first.id,
    input: [{ type: 'mcp_approval_response', approval_request_id: bob!, approve: true }]
  })
  t.equal(second.output_text, 'Done')
})

t.test('a question is a call that the user answers, or declines', async (t) => {
  const { add } = supportAgent([
    callsOf(['ask', { what: 'size' }]),
    'Fine',
    callsOf(['ask', { what: 'size' }]),
    'Well'
  ])
  const { client } = await openAiApp(t, { add })
  const openai = client()
  const ask = async () => {
    const { id, output } = await openai.responses.create({ model, input: 'Order' })
    const [question] = callsIn(output, 'question')
    return { id, question: question! }
  }
  const first = await ask()
  t.match(JSON.parse(first.question.arguments), { message: 'Which size?', schema: { type: 'string' } })
  const answer = (previous: string, item: ResponseInputItem) =>
    openai.responses.create({ model, previous_response_id: previous, input: [item] })
  await t.rejects(answer(first.id, { ...outputOf(first.question, ''), output: '' }), {
    status: 400,
    code: 'RUN_ERR_BAD_INPUT',
    type: 'invalid_request_error'
  })
  const second = await answer(first.id, { ...outputOf(first.question, ''), output: '5' })
  t.match(second.output[0], { output: 'chose 5' }, 'a number is a text where a text is asked for')
  t.match((await openai.responses.inputItems.list(second.id)).data, [
    { call_id: first.question.call_id, output: '5' }
  ])
  const third = await ask()
  const fourth = await answer(third.id, { ...outputOf(third.question, ''), status: 'incomplete' })
  t.match(fourth.output[0], { output: 'no choice' })
})

t.test('what a run waits for comes before a message', async (t) => {
  const { add } = supportAgent([callsOf(['locate', {}]), 'Fine'])
  const { client } = await openAiApp(t, { add })
  const openai = client()
  const conversation = 'conv-1'
  const first = await openai.responses.create({ model, input: 'Where?', tools: [locate], conversation })
  for (const where of [{ conversation }, { previous_response_id: first.id }])
    await t.rejects(openai.responses.create({ model, input: 'Hello?', ...where }), {
      status: 400,
      code: 'OPENAI_ERR_BAD_REQUEST'
    })
  const [call] = callsIn(first.output, 'locate')
  const second = await openai.responses.create({ model, conversation, input: [outputOf(call!, 'Oslo')] })
  t.equal(second.output_text, 'Fine')
})

t.test('tools of the client need the leave of the service', async (t) => {
  const { add, model: scripted } = supportAgent('Hi')
  const { client } = await openAiApp(t, { add, options: { clientTools: false } })
  await t.rejects(client().responses.create({ model, input: 'Hi', tools: [locate] }), {
    status: 403,
    code: 'RUN_ERR_CLIENT_TOOLS',
    type: 'permission_error'
  })
  const response = await client().responses.create({
    model,
    input: 'Hi',
    tools: [locate],
    tool_choice: 'none'
  })
  t.equal(response.output_text, 'Hi')
  t.same(promptOf(scripted.calls[0]!), ['Hi'])
})

function callsIn(output: readonly ResponseOutputItem[], name: string): ResponseFunctionToolCall[] {
  return output.filter((item) => item.type === 'function_call').filter((call) => call.name === name)
}

function outputOf({ call_id }: ResponseFunctionToolCall, output: unknown) {
  return { type: 'function_call_output', call_id, output: JSON.stringify(output) } as const
}

function runOf(id: string): string {
  return id.replace(/^resp_/, '').replace(/_\d+$/, '')
}

function plain(output: readonly object[]): unknown {
  const drop = new Set(['parsed_arguments', 'parsed'])
  return JSON.parse(JSON.stringify(output, (key, value: unknown) => (drop.has(key) ? undefined : value)))
}
