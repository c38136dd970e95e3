import { callsOf } from '@tools/wires/agents'
import type { ResponseObject } from '@svc/openai'
import t, { type Test } from 'tap'
import { supportAgent } from '../helpers/agents.ts'
import { openAiApp } from '../helpers/openai-app.ts'
import { findEventFault, findResponseFault } from '../helpers/open-responses.ts'
import { ResponseSocket } from '../helpers/response-socket.ts'

// What the compliance suite of Open Responses 2026-04-24 checks, but for `/responses/compact`.

const model = 'support'
const weather = {
  type: 'function',
  name: 'get_weather',
  description: 'The weather at a place',
  parameters: { type: 'object', properties: { location: { type: 'string' } }, required: ['location'] }
}
const PIXEL =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

async function serve(t: Test) {
  const { add, ...agent } = supportAgent(({ prompt }) => {
    const said = JSON.stringify(prompt)
    if (said.includes('weather like')) return callsOf(['get_weather', { location: 'Oslo' }])
    return said.includes('cobalt') && said.includes('What is the code word') ? 'cobalt' : { text: ['O', 'K'] }
  })
  const app = await openAiApp(t, { add })
  const post = async (body: object): Promise<ResponseObject> => {
    const reply = await fetch(`${app.baseURL}/responses`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model, ...body })
    })
    t.equal(reply.status, 200)
    const response = (await reply.json()) as ResponseObject
    t.equal(findResponseFault(response), undefined)
    return response
  }
  return { ...app, model: agent.model, post, open: () => new ResponseSocket(app.baseURL) }
}

t.test('over HTTP', async (t) => {
  const { post, baseURL, model: asked } = await serve(t)
  const isAnswered = (response: ResponseObject, label: string) => {
    t.equal(response.status, 'completed', label)
    t.ok(response.output.length > 0, label)
  }
  const user = (content: unknown) => ({ type: 'message', role: 'user', content })

  isAnswered(await post({ input: [user('Say hello.')] }), 'a basic response')
  const phased = [
    { type: 'message', role: 'assistant', phase: 'commentary', content: 'I look for the number.' },
    { type: 'message', role: 'assistant', phase: 'final_answer', content: 'It is four.' },
    user('Say only the number.')
  ]
  const said = await post({ input: phased })
  isAnswered(said, 'phases of messages of the assistant')
  t.match(said.output, [{ type: 'message', phase: 'final_answer' }])
  isAnswered(
    await post({ input: [{ type: 'message', role: 'system', content: 'Be a pirate.' }, user('Hi')] }),
    'a system prompt'
  )
  t.match(JSON.stringify(asked.calls.at(-1)!.prompt), 'Be a pirate.')
  isAnswered(
    await post({
      input: [
        user('I am Ann.'),
        { type: 'message', role: 'assistant', content: 'Hello Ann.' },
        user('Who am I?')
      ]
    }),
    'several turns'
  )
  t.match(JSON.stringify(asked.calls.at(-1)!.prompt), /I am Ann.*Hello Ann.*Who am I/)
  const image = [
    { type: 'input_text', text: 'What is it?' },
    { type: 'input_image', image_url: PIXEL }
  ]
  isAnswered(await post({ input: [user(image)] }), 'an image')
  const called = await post({ input: [user('What is the weather like?')], tools: [weather] })
  t.match(called.output, [{ type: 'function_call', name: 'get_weather', arguments: '{"location":"Oslo"}' }])

  const reply = await fetch(`${baseURL}/responses`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model, input: [user('Count')], stream: true })
  })
  const lines = (await reply.text()).split('\n').filter((line) => line.startsWith('data: {'))
  const events = lines.map((line) => JSON.parse(line.slice(6)) as { type: string })
  t.same(events.map(findEventFault).filter(Boolean), [])
  t.equal(events.at(-1)?.type, 'response.completed')
})

t.test('a response over a WebSocket, and several one after the other', async (t) => {
  const { open } = await serve(t)
  const socket = open()
  t.teardown(() => socket.ws.close())
  t.match(await socket.ask({ model, input: [{ type: 'message', role: 'user', content: 'Count' }] }), {
    response: { status: 'completed', output: [{ type: 'message' }] }
  })
  const ids = []
  for (const input of ['first', 'second']) {
    const { response } = await socket.ask({ model, store: false, input })
    t.match(response, { status: 'completed', store: false })
    ids.push(response!.id)
  }
  t.not(ids[0], ids[1])
})

t.test('a response that is not stored is followed on its connection', async (t) => {
  const { open } = await serve(t)
  const socket = open()
  t.teardown(() => socket.ws.close())
  const first = await socket.ask({ model, store: false, input: 'The code word is cobalt. Say OK.' })
  const previous = first.response!.id
  const input = 'What is the code word?'
  const { response } = await socket.ask({ model, store: false, previous_response_id: previous, input })
  t.match(response, { status: 'completed', previous_response_id: previous })
  t.match(response!.output, [{ content: [{ text: 'cobalt' }] }])
})

t.test('a connection does not know what is not stored of another', async (t) => {
  const { open } = await serve(t)
  const [one, other] = [open(), open()]
  t.teardown(() => [one, other].forEach(({ ws }) => ws.close()))
  const first = await one.ask({ model, store: false, input: 'The code word is copper.' })
  const previous = first.response!.id
  const lost = await other.ask({ model, store: false, previous_response_id: previous, input: 'Go on' })
  t.match(lost.error, { status: 400, error: { code: 'previous_response_not_found' } })
  t.match(await other.ask({ model, store: false, input: 'Anew' }), { response: { status: 'completed' } })
})

t.test('a response that there is not', async (t) => {
  const { open } = await serve(t)
  const socket = open()
  t.teardown(() => socket.ws.close())
  const { error } = await socket.ask({ model, store: false, previous_response_id: 'resp_none', input: 'Hi' })
  t.match(error, {
    type: 'error',
    status: 400,
    error: {
      type: 'invalid_request_error',
      code: 'previous_response_not_found',
      param: 'previous_response_id'
    }
  })
})

t.test('a response that could not be followed is kept no longer', async (t) => {
  const { open } = await serve(t)
  const socket = open()
  t.teardown(() => socket.ws.close())
  const first = await socket.ask({ model, store: false, input: 'The code word is ember.' })
  const follow = { model, store: false, previous_response_id: first.response!.id }
  const output = [{ type: 'function_call_output', call_id: 'call_none', output: 'none' }]
  t.match(await socket.ask({ ...follow, input: output }), { error: { status: 400 } })
  t.match(await socket.ask({ ...follow, input: 'Go on' }), {
    error: { error: { code: 'previous_response_not_found' } }
  })
})
