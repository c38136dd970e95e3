import { callsOf } from '@tools/wires/agents'
import { ResponsesWS } from 'openai/resources/responses/ws'
import type {
  Response,
  ResponsesClientEvent,
  ResponsesServerEvent
} from 'openai/resources/responses/responses'
import t from 'tap'
import { locate, supportAgent } from '../helpers/agents.ts'
import { openAiApp } from '../helpers/openai-app.ts'

type Create = Omit<Extract<ResponsesClientEvent, { type: 'response.create' }>, 'type'>

/** A conversation over a socket of the SDK. */
function converse(ws: ResponsesWS) {
  const messages = ws.stream()
  return async (body: Create): Promise<{ events: ResponsesServerEvent[]; response: Response }> => {
    ws.send({ type: 'response.create', ...body })
    const events: ResponsesServerEvent[] = []
    for (let next = await messages.next(); next.done !== true; next = await messages.next()) {
      if (next.value.type === 'error') throw next.value.error
      if (next.value.type !== 'message') continue
      const { message } = next.value
      events.push(message)
      if (message.type === 'response.completed') return { events, response: message.response }
    }
    throw new Error('closed')
  }
}

t.test('several turns with a tool of the client, over one socket', async (t) => {
  const { add, model } = supportAgent([
    'Hello',
    callsOf(['locate', { exact: true }]),
    'You are in Oslo',
    'Three'
  ])
  const { client } = await openAiApp(t, { add })
  const openai = client()
  const ws = new ResponsesWS(openai)
  t.teardown(() => ws.close())
  const ask = converse(ws)
  const first = await ask({ model: 'support', input: 'Hi' })
  t.same(
    first.events.map((event) => 'sequence_number' in event && event.sequence_number),
    first.events.map((_, number) => number)
  )
  const stored = await openai.responses.retrieve(first.response.id)
  t.same(stored.output, first.response.output, 'it is the response that is found over HTTP')

  const tools = [locate]
  const asked = await ask({
    model: 'support',
    previous_response_id: first.response.id,
    input: 'Where am I?',
    tools
  })
  const call = asked.response.output.find((item) => item.type === 'function_call')!
  const answered = await ask({
    model: 'support',
    previous_response_id: asked.response.id,
    input: [{ type: 'function_call_output', call_id: call.call_id, output: 'Oslo' }],
    tools
  })
  t.match(answered.response.output, [{ content: [{ text: 'You are in Oslo' }] }])
  const last = await ask({
    model: 'support',
    previous_response_id: answered.response.id,
    input: 'How many?'
  })
  t.match(last.response.output, [{ content: [{ text: 'Three' }] }])
  t.match(JSON.stringify(model.calls.at(-1)!.prompt), /Hello.*Where am I.*Oslo.*You are in Oslo/)
})

t.test('the same with responses that are not stored', async (t) => {
  const { add, model } = supportAgent([
    { text: 'I look', ...callsOf(['locate', {}]) },
    'You are in Oslo',
    'Bye'
  ])
  const { client } = await openAiApp(t, { add })
  const openai = client()
  const ws = new ResponsesWS(openai)
  t.teardown(() => ws.close())
  const ask = converse(ws)
  const body = { model: 'support', store: false, tools: [locate] }
  const asked = await ask({ ...body, input: 'Where am I?' })
  const call = asked.response.output.find((item) => item.type === 'function_call')!
  const answered = await ask({
    ...body,
    previous_response_id: asked.response.id,
    input: [{ type: 'function_call_output', call_id: call.call_id, output: 'Oslo' }]
  })
  t.match(answered.response.output, [{ content: [{ text: 'You are in Oslo' }] }])
  await ask({ ...body, previous_response_id: answered.response.id, input: 'Thanks' })
  t.match(
    model.calls.at(-1)!.prompt.map(({ role }) => role),
    ['user', 'assistant', 'tool', 'assistant', 'user'],
    'the model is shown all that was said'
  )
  await t.rejects(openai.responses.retrieve(answered.response.id), { status: 404, message: /No response/ })
  await t.rejects(openai.responses.retrieve(asked.response.id), { status: 404, message: /No response/ })
})

t.test('a response is prepared, and followed without more input', async (t) => {
  const { add, model } = supportAgent(['Hello', 'Again', 'Once more'])
  const { client } = await openAiApp(t, { add })
  const ws = new ResponsesWS(client())
  t.teardown(() => ws.close())
  const ask = converse(ws)
  const user = (content: string) => ({ role: 'user' as const, content })
  const prepared = await ask({ model: 'support', store: false, generate: false, input: [user('Hi')] })
  t.match(prepared.response, { status: 'completed', output: [], store: false, usage: { total_tokens: 0 } })
  t.equal(model.calls.length, 0)
  const follow = { model: 'support', store: false, previous_response_id: prepared.response.id }
  const { response } = await ask({ ...follow, input: [] })
  t.match(response, {
    previous_response_id: prepared.response.id,
    output: [{ content: [{ text: 'Hello' }] }]
  })
  t.match(JSON.stringify(model.calls[0]!.prompt), '"Hi"')

  const later = await ask({
    model: 'support',
    store: false,
    generate: false,
    previous_response_id: response.id,
    input: 'Be kind'
  })
  await ask({ model: 'support', store: false, previous_response_id: later.response.id, input: 'Go on' })
  t.match(JSON.stringify(model.calls[1]!.prompt), /"Hi".*Hello.*Be kind.*Go on/)

  const stored = await ask({ model: 'support', input: 'Kept' })
  const behind = await ask({
    model: 'support',
    generate: false,
    previous_response_id: stored.response.id,
    input: 'Behind'
  })
  t.equal(behind.response.previous_response_id, stored.response.id)
})

t.test('an error is an error of the SDK, and the socket goes on', async (t) => {
  const { add } = supportAgent(['Hello'])
  const { client } = await openAiApp(t, { add })
  const ws = new ResponsesWS(client())
  t.teardown(() => ws.close())
  const ask = converse(ws)
  await t.rejects(ask({ model: 'nobody', input: 'Hi' }), { message: /nobody/ })
  t.match((await ask({ model: 'support', input: 'Hi' })).response, { status: 'completed' })
})
