import openAi from '@svc/openai'
import { defineRunnable } from '@svc/registry'
import { authenticate, callsOf } from '@tools/wires/agents'
import { checkPlugin, leaveEarly, parrot } from '@tools/wires/wire-checks'
import t from 'tap'
import { locate, supportAgent } from '../helpers/agents.ts'
import { openAiApp } from '../helpers/openai-app.ts'
import { findResponseFault } from '../helpers/open-responses.ts'

const json = { 'content-type': 'application/json' }
const input = 'Hi'
const model = 'parrot'
const user = { role: 'user', content: 'Hi' }
const call = { type: 'function_call', call_id: 'c-1', name: 'f', arguments: '{}' }
const output = { type: 'function_call_output', call_id: 'c-1', output: '1' }

t.test('broken requests have the error of the protocol and a status under 500', async (t) => {
  const { baseURL, app } = await openAiApp(t, {
    runnables: [parrot],
    ...supportAgent('Hi'),
    options: { bodyLimit: 4_096, jsonDepth: 10, clientTools: false, clientInstructions: false }
  })
  const url = `${baseURL}/responses`
  const post = (body: unknown, headers: Record<string, string> = json) =>
    fetch(url, { method: 'POST', headers, body: typeof body === 'string' ? body : JSON.stringify(body) })
  const withInput =
    (items: unknown, name = 'support') =>
    () =>
      post({ model: name, input: items })
  const deep = `{"model":"parrot","input":${'['.repeat(20)}${']'.repeat(20)}}`
  const cases: [name: string, send: () => Promise<Response>, status: number, code: string][] = [
    ['no body', () => post(''), 400, 'OPENAI_ERR_BAD_JSON'],
    ['no JSON', () => post('{'), 400, 'OPENAI_ERR_BAD_JSON'],
    ['too deep', () => post(deep), 400, 'OPENAI_ERR_BAD_JSON'],
    ['no model', () => post({ input }), 400, 'OPENAI_ERR_BAD_REQUEST'],
    ['no input', () => post({ model }), 400, 'OPENAI_ERR_BAD_REQUEST'],
    ['an empty input', withInput([]), 400, 'OPENAI_ERR_BAD_REQUEST'],
    ['a blank text', withInput(' '), 400, 'RUN_ERR_BAD_INPUT'],
    ['an item that is none', withInput([5]), 400, 'OPENAI_ERR_BAD_REQUEST'],
    ['only an unknown item', withInput([{ type: 'x' }]), 400, 'RUN_ERR_BAD_INPUT'],
    [
      'an unknown reference',
      withInput([{ type: 'item_reference', id: 'msg_x_1' }]),
      404,
      'OPENAI_ERR_UNKNOWN_ITEM'
    ],
    ['a reference to nothing', withInput([{ type: 'item_reference' }]), 404, 'OPENAI_ERR_UNKNOWN_ITEM'],
    ['a call id that is no text', withInput([{ ...call, call_id: 5 }]), 400, 'OPENAI_ERR_BAD_REQUEST'],
    ['an unknown role', withInput([{ role: 'x', content: 'x' }]), 400, 'OPENAI_ERR_BAD_REQUEST'],
    ['no content', withInput([{ role: 'user' }]), 400, 'OPENAI_ERR_BAD_REQUEST'],
    [
      'an unknown part',
      withInput([{ role: 'user', content: [{ type: 'x' }] }]),
      400,
      'OPENAI_ERR_UNSUPPORTED'
    ],
    [
      'a part without text',
      withInput([{ role: 'user', content: [{ type: 'input_text' }] }]),
      400,
      'OPENAI_ERR_BAD_REQUEST'
    ],
    [
      'an image without a URL',
      withInput([{ role: 'user', content: [{ type: 'input_image' }] }]),
      400,
      'OPENAI_ERR_BAD_REQUEST'
    ],
    [
      'a file by id',
      withInput([{ role: 'user', content: [{ type: 'input_file', file_id: 'f' }] }]),
      400,
      'OPENAI_ERR_UNSUPPORTED'
    ],
    [
      'a data URL that is not base64',
      withInput([{ role: 'user', content: [{ type: 'input_image', image_url: 'data:image/png;base64,*' }] }]),
      400,
      'RUN_ERR_BAD_INPUT'
    ],
    [
      'a call without arguments',
      withInput([{ type: 'function_call', call_id: 'c', name: 'f' }]),
      400,
      'OPENAI_ERR_BAD_REQUEST'
    ],
    ['an output without a call', withInput([output]), 400, 'RUN_ERR_BAD_INPUT'],
    [
      'an output without its id',
      withInput([user, { type: 'function_call_output', output: '1' }]),
      400,
      'OPENAI_ERR_BAD_REQUEST'
    ],
    [
      'an output with an image',
      withInput([user, call, { ...output, output: [{ type: 'input_image', image_url: 'https://x' }] }]),
      400,
      'OPENAI_ERR_UNSUPPORTED'
    ],
    ['a history that ends with a call', withInput([user, call]), 400, 'RUN_ERR_BAD_INPUT'],
    ['a message after a call without an output', withInput([user, call, user]), 400, 'RUN_ERR_BAD_INPUT'],
    [
      'an answer to nothing at the end',
      withInput([{ role: 'assistant', content: 'x' }]),
      400,
      'RUN_ERR_BAD_INPUT'
    ],
    [
      'an approval of nothing',
      withInput([{ type: 'mcp_approval_response', approval_request_id: 'a', approve: true }]),
      400,
      'OPENAI_ERR_BAD_REQUEST'
    ],
    [
      'an approval that says nothing',
      withInput([{ type: 'mcp_approval_response' }]),
      400,
      'OPENAI_ERR_BAD_REQUEST'
    ],
    ['an unknown model', () => post({ model: 'nobody', input }), 404, 'OPENAI_ERR_UNKNOWN_MODEL'],
    ['an unknown team', () => post({ model: 'team/nobody', input }), 404, 'OPENAI_ERR_UNKNOWN_MODEL'],
    ['a wrong type', () => post({ model, input, stream: 'yes' }), 400, 'OPENAI_ERR_BAD_REQUEST'],
    ['wrong metadata', () => post({ model, input, metadata: { a: 1 } }), 400, 'OPENAI_ERR_BAD_REQUEST'],
    ['a wrong temperature', () => post({ model, input, temperature: 'hot' }), 400, 'OPENAI_ERR_BAD_REQUEST'],
    [
      'a bad conversation',
      () => post({ model, input, conversation: 'a\u0000' }),
      400,
      'OPENAI_ERR_BAD_REQUEST'
    ],
    [
      'a conversation and a response',
      () => post({ model, input, conversation: 'a', previous_response_id: 'b' }),
      400,
      'OPENAI_ERR_BAD_REQUEST'
    ],
    [
      'an unknown response before',
      () => post({ model, input, previous_response_id: 'resp_x' }),
      404,
      'OPENAI_ERR_UNKNOWN_RESPONSE'
    ],
    [
      'tools where none are taken',
      () => post({ model, input, tools: [locate] }),
      403,
      'RUN_ERR_CLIENT_TOOLS'
    ],
    [
      'a tool whose name is no text',
      () => post({ model, input, tools: [{ type: 'function', name: 5 }] }),
      400,
      'OPENAI_ERR_BAD_REQUEST'
    ],
    [
      'a tool without a name',
      () => post({ model, input, tools: [{ type: 'function' }] }),
      400,
      'OPENAI_ERR_BAD_REQUEST'
    ],
    ['a choice of no kind', () => post({ model, input, tool_choice: 'x' }), 400, 'OPENAI_ERR_BAD_REQUEST'],
    ['stop', () => post({ model, input, stop: ['1', '2', '3', '4', '5'] }), 400, 'OPENAI_ERR_BAD_REQUEST'],
    [
      'instructions where none are taken',
      () => post({ model, input, instructions: 'x' }),
      403,
      'RUN_ERR_CLIENT_INSTRUCTIONS'
    ],
    [
      'an unknown format',
      () => post({ model, input, text: { format: { type: 'x' } } }),
      400,
      'OPENAI_ERR_UNSUPPORTED'
    ],
    ['too many bytes', () => post({ model, input: 'x'.repeat(5_000) }), 413, 'OPENAI_ERR_BODY_TOO_LARGE'],
    [
      'another type',
      () => post('x', { 'content-type': 'text/plain' }),
      415,
      'OPENAI_ERR_UNSUPPORTED_MEDIA_TYPE'
    ],
    [
      'a compressed body',
      () => post('x', { ...json, 'content-encoding': 'gzip' }),
      415,
      'OPENAI_ERR_UNSUPPORTED_MEDIA_TYPE'
    ],
    ['an unknown response', () => fetch(`${url}/resp_x`), 404, 'OPENAI_ERR_UNKNOWN_RESPONSE'],
    ['no id of a response', () => fetch(`${url}/x`), 404, 'OPENAI_ERR_UNKNOWN_RESPONSE'],
    [
      'a bad place',
      () => fetch(`${url}/resp_x?stream=true&starting_after=-1`),
      400,
      'OPENAI_ERR_BAD_REQUEST'
    ],
    [
      'a wrong place',
      () => fetch(`${url}/resp_x?stream=true&starting_after=x`),
      400,
      'OPENAI_ERR_BAD_REQUEST'
    ],
    ['a bad limit', () => fetch(`${url}/resp_x/input_items?limit=0`), 400, 'OPENAI_ERR_BAD_REQUEST'],
    [
      'a cancel of nothing',
      () => fetch(`${url}/resp_x/cancel`, { method: 'POST' }),
      404,
      'OPENAI_ERR_UNKNOWN_RESPONSE'
    ],
    [
      'an unknown route',
      () => fetch(`${baseURL}/embeddings?x=1`, { method: 'POST' }),
      404,
      'OPENAI_ERR_ROUTE_NOT_FOUND'
    ],
    [
      'another method',
      () => fetch(`${baseURL}/models`, { method: 'DELETE' }),
      404,
      'OPENAI_ERR_ROUTE_NOT_FOUND'
    ],
    ['a file of nothing', () => fetch(`${baseURL}/files/file_x_y/content`), 404, 'RUN_ERR_NOT_FOUND']
  ]
  for (const [name, send, status, code] of cases) {
    const response = await send()
    const body = await response.json()
    t.match([response.status, body], [status, { error: { code, message: String, type: String } }], name)
    t.same(Object.keys((body as { error: object }).error), ['message', 'type', 'param', 'code'], name)
    t.ok(response.headers.get('x-request-id'), name)
  }
  t.equal((await post({ model, input, extra: { any: 'field' } })).status, 200, 'other fields are ignored')
  t.ok(app.server.listening)
})

t.test('the error names the parameter, and a place that a response does not have is not found', async (t) => {
  const { client, baseURL } = await openAiApp(t, { runnables: [parrot] })
  const openai = client()
  await t.rejects(openai.responses.create({ model, input, metadata: { a: 1 } as never }), {
    code: 'OPENAI_ERR_BAD_REQUEST',
    param: /metadata/,
    type: 'invalid_request_error'
  })
  const { id } = await openai.responses.create({ model, input })
  for (const path of [`${id}_3`, `${id}_1?stream=true`, `${id}_0`, `${id}_3/input_items`]) {
    const response = await fetch(`${baseURL}/responses/${path}`)
    t.match(
      [response.status, await response.json()],
      [404, { error: { code: 'OPENAI_ERR_UNKNOWN_RESPONSE' } }],
      path
    )
  }
  await t.rejects(openai.responses.create({ model, input, previous_response_id: `${id}_3` }), {
    code: 'OPENAI_ERR_UNKNOWN_RESPONSE'
  })
  await t.rejects(openai.responses.inputItems.list(id, { after: 'x' }), { code: 'OPENAI_ERR_BAD_REQUEST' })
  await t.rejects(
    openai.responses.create({
      model,
      previous_response_id: id,
      input: [{ ...output, type: 'function_call_output' }]
    }),
    { code: 'OPENAI_ERR_BAD_REQUEST' }
  )
})

t.test('a history of 5 MB is taken, up to the limit', async (t) => {
  const { baseURL } = await openAiApp(t, supportAgent('Hi'))
  const old = Array.from({ length: 50 }, (_, index) => ({
    role: index % 2 === 0 ? 'user' : 'assistant',
    content: 'x'.repeat(100_000)
  }))
  const send = async (items: object[]) => {
    const body = JSON.stringify({ model: 'support', input: [...items, user] })
    return (await fetch(`${baseURL}/responses`, { method: 'POST', headers: json, body })).status
  }
  t.equal(await send(old), 200)
  t.equal(await send([...old, ...old, ...old]), 413)
})

t.test('a body that breaks off, and a client that leaves at once, do no harm', async (t) => {
  const { client, baseURL } = await openAiApp(t, { runnables: [parrot] })
  await leaveEarly(t, `${baseURL}/responses`, { model, input })
  t.equal((await client().responses.create({ model, input })).output_text, 'Hello')
})

t.test('each answer names its request, as the client shows it', async (t) => {
  const { client, baseURL, origin } = await openAiApp(t, { runnables: [parrot] })
  const openai = client()
  t.match(await openai.responses.create({ model, input }), { _request_id: String })
  t.match(await openai.chat.completions.create({ model, messages: [{ role: 'user', content: input }] }), {
    _request_id: String
  })
  await t.rejects(openai.responses.create({ model: 'none', input }), {
    code: 'OPENAI_ERR_UNKNOWN_MODEL',
    requestID: String
  })
  await t.rejects(openai.embeddings.create({ model, input }), {
    status: 404,
    code: 'OPENAI_ERR_ROUTE_NOT_FOUND',
    requestID: String,
    message: /POST \/v1\/embeddings/
  })
  const body = JSON.stringify({ model, input, stream: true })
  const stream = await fetch(`${baseURL}/responses`, { method: 'POST', headers: json, body })
  t.ok(stream.headers.get('x-request-id'))
  await stream.body!.cancel()
  t.notOk((await fetch(`${origin}/else`)).headers.has('x-request-id'), 'only below its prefix')
})

t.test('a response belongs to its owner; others do not find it', async (t) => {
  const { promise: may, resolve: go } = Promise.withResolvers<void>()
  const slow = defineRunnable({
    kind: 'agent',
    name: 'slow',
    async *stream() {
      yield { type: 'text', text: 'one' }
      await may
    }
  })
  const { add } = supportAgent([callsOf(['locate', {}]), 'Fine', 'So'])
  const { client, runs, baseURL, origin } = await openAiApp(t, {
    runnables: [slow],
    add,
    engine: { authenticate }
  })
  const [ann, bob] = [client('ann'), client('bob')]
  const { id } = await ann.responses.create({ model: 'slow', input, background: true })
  await t.rejects(client('bad').responses.retrieve(id), { status: 401, code: 'OPENAI_ERR_INVALID_TOKEN' })
  const none = await fetch(`${baseURL}/responses/${id}`)
  t.match([none.status, none.headers.get('www-authenticate')], [401, /Bearer/])
  const unknown = { status: 404, code: 'OPENAI_ERR_UNKNOWN_RESPONSE' }
  await t.rejects(bob.responses.retrieve(id), unknown)
  await t.rejects(bob.responses.retrieve(id, { stream: true }), unknown)
  await t.rejects(bob.responses.cancel(id), unknown)
  await t.rejects(bob.responses.delete(id), unknown)
  await t.rejects(bob.responses.inputItems.list(id), unknown)
  await t.rejects(bob.responses.create({ model: 'slow', input, previous_response_id: id }), unknown)
  t.equal((await runs.find(id.slice('resp_'.length)))!.status, 'working', 'he cancels nothing')
  go()
  t.equal((await ann.responses.stream({ response_id: id }).finalResponse()).output_text, 'one')

  t.comment('what a run of another waits for is not answered')
  const first = await ann.responses.create({ model: 'support', input, tools: [locate], conversation: 'c' })
  const [item] = first.output
  const answer = { ...output, type: 'function_call_output', call_id: 'call-1' } as const
  await t.rejects(bob.responses.create({ model: 'support', input: [answer] }), { code: 'RUN_ERR_BAD_INPUT' })
  await t.rejects(bob.responses.create({ model: 'support', input: [answer], conversation: 'c' }), {
    code: 'OPENAI_ERR_BAD_REQUEST'
  })
  t.match(item, { call_id: 'call-1' })
  const second = await ann.responses.create({ model: 'support', input: [answer], conversation: 'c' })
  t.equal(second.output_text, 'Fine')

  t.comment('what another was answered is no item of his')
  const reference = [
    { type: 'item_reference', id: second.output[0]!.id! } as const,
    { role: 'user', content: 'And?' } as const
  ]
  await t.rejects(bob.responses.create({ model: 'support', input: reference }), {
    status: 404,
    code: 'OPENAI_ERR_UNKNOWN_ITEM',
    param: 'input[0].id'
  })
  t.equal((await ann.responses.create({ model: 'support', input: reference })).status, 'completed')

  t.comment('cookies: only from the same origin')
  const post = (from: string) => {
    const headers = { ...json, cookie: 'token=ann', origin: from }
    return fetch(`${baseURL}/responses`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ model: 'slow', input })
    })
  }
  t.equal((await post(origin)).status, 200)
  const foreign = await post('https://evil.example')
  t.match([foreign.status, await foreign.json()], [403, { error: { code: 'OPENAI_ERR_CROSS_ORIGIN' } }])
})

t.test('the policy decides who may ask what', async (t) => {
  const { client } = await openAiApp(t, {
    runnables: [parrot],
    options: { authorize: (_, action) => ({ allowed: false, missing: `agents:${action}` }) }
  })
  await t.rejects(client().responses.create({ model, input }), {
    status: 403,
    code: 'OPENAI_ERR_MISSING_SCOPE',
    type: 'permission_error',
    message: /agents:run/
  })
  t.same((await client().models.list()).data, [])
  await t.rejects(client().models.retrieve(model), { status: 404, code: 'OPENAI_ERR_UNKNOWN_MODEL' })
})

t.test('the reply has what Open Responses requires, whatever was asked', async (t) => {
  const { baseURL } = await openAiApp(t, supportAgent('Hi'))
  const all = {
    background: null,
    conversation: null,
    frequency_penalty: 0.5,
    instructions: 'Be brief.',
    max_output_tokens: 100,
    max_tool_calls: 3,
    metadata: null,
    parallel_tool_calls: false,
    presence_penalty: null,
    previous_response_id: null,
    prompt_cache_key: 'k',
    reasoning: { effort: 'low' },
    safety_identifier: 's',
    service_tier: 'auto',
    temperature: 0,
    text: { format: { type: 'json_schema', name: 'x', schema: {} }, verbosity: 'low' },
    tool_choice: 'auto',
    tools: [{ type: 'function', name: 'f' }],
    top_logprobs: 2,
    top_p: 0.5,
    truncation: 'auto',
    user: 'ann'
  }
  for (const asked of [{}, all]) {
    const body = JSON.stringify({ model: 'support', input, ...asked })
    const reply = await fetch(`${baseURL}/responses`, { method: 'POST', headers: json, body })
    const response = (await reply.json()) as Record<string, unknown>
    t.equal(findResponseFault(response), undefined)
    t.equal(response['temperature'], 'temperature' in asked ? 0 : 1)
  }
})

t.test('the OpenAPI document has all routes', async (t) => {
  const { baseURL } = await openAiApp(t, { runnables: [parrot], engine: { authenticate } })
  const document = (await (await fetch(`${baseURL}/openai/openapi.json`)).json()) as {
    paths: Record<string, object>
    components: { schemas: object }
  }
  t.match(document, { openapi: '3.0.3' })
  for (const path of ['', '/{id}', '/{id}/cancel', '/{id}/input_items'])
    t.ok(`/v1/responses${path}` in document.paths, path)
  t.ok('/v1/models' in document.paths)
  t.ok('ResponseBody' in document.components.schemas && 'Error' in document.components.schemas)
})

t.test('bad options are refused, and an app without an engine gets one', async (t) => {
  await checkPlugin(t, openAi, 'OPENAI_ERR_BAD_OPTION')
})
