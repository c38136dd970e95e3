import { once } from 'node:events'
import { defineRunnable } from '@svc/registry'
import { scriptedRunnable } from '@svc/testing'
import { authenticate, pausing } from '@tools/wires/agents'
import { parrot } from '@tools/wires/wire-checks'
import t from 'tap'
import { openAiApp } from '../helpers/openai-app.ts'
import { locateTool, postCompletion, said } from './helpers/completions.ts'

const flow = scriptedRunnable([{ type: 'text', text: 'Hello' }], { name: 'flow', kind: 'workflow' })
const messages = said('Hi')

t.test('broken requests have the error of the protocol and a status under 500', async (t) => {
  const options = { bodyLimit: 65_536, jsonDepth: 10 }
  const app = await openAiApp(t, { runnables: [parrot, flow], options })
  const plain = await openAiApp(t, {
    runnables: [parrot],
    options: { clientTools: false, clientInstructions: false }
  })
  const call = (id: string, name = 'x', args = '{}') => ({
    id,
    type: 'function',
    function: { name, arguments: args }
  })
  const ofModel = (fields: object) => ({ model: 'parrot', messages, ...fields })
  const of = (...given: object[]) => ofModel({ messages: given })
  const user = { role: 'user', content: 'Hi' }
  const calls = (...ids: string[]) => ({
    role: 'assistant',
    content: null,
    tool_calls: ids.map((id) => call(id))
  })
  const output = (tool_call_id: string) => ({ role: 'tool', tool_call_id, content: 'x' })
  const tool = { type: 'function', function: { name: 'x', parameters: { type: 'object' } } }
  const BAD = 'OPENAI_ERR_BAD_REQUEST'
  const INPUT = 'RUN_ERR_BAD_INPUT'
  const UNSUPPORTED = 'OPENAI_ERR_UNSUPPORTED'
  const cases: [name: string, body: unknown, code: string, param?: string | null][] = [
    ['no body', '', 'OPENAI_ERR_BAD_JSON'],
    ['no JSON', '{', 'OPENAI_ERR_BAD_JSON'],
    ['too deep', `{"model":"parrot","messages":${'['.repeat(20)}${']'.repeat(20)}}`, 'OPENAI_ERR_BAD_JSON'],
    ['a list', [], BAD],
    ['no model', { messages }, BAD],
    ['no messages', { model: 'parrot' }, BAD],
    ['an empty conversation', of(), BAD, 'messages'],
    ['an unknown role', of(user, { role: 'robot', content: 'x' }), BAD, 'messages[1].role'],
    ['a function', of(user, { role: 'function', name: 'x', content: 'x' }), BAD],
    ['no content', of({ role: 'user' }), BAD],
    ['a part that is none', of({ role: 'user', content: [7] }), BAD],
    ['an unknown part', of({ role: 'user', content: [{ type: 'video' }] }), UNSUPPORTED],
    ['an image without a URL', of({ role: 'user', content: [{ type: 'image_url', image_url: {} }] }), BAD],
    [
      'a file by its id',
      of({ role: 'user', content: [{ type: 'file', file: { file_id: 'f' } }] }),
      UNSUPPORTED
    ],
    [
      'an image that is no base64',
      of({ role: 'user', content: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,*' } }] }),
      INPUT
    ],
    ['a blank message', of({ role: 'user', content: ' ' }), INPUT],
    ['a system alone', of({ role: 'system', content: 'x' }), INPUT],
    ['an answer to nothing at the end', of({ role: 'assistant', content: 'x' }), INPUT],
    ['a call without an output', of(user, calls('a')), BAD],
    ['a call that was never answered', of(user, calls('a'), user), BAD],
    ['one output of two', of(user, calls('a', 'b'), output('a')), BAD],
    ['an output twice', of(user, calls('a'), output('a'), output('a')), BAD],
    ['two calls of one id', of(user, calls('a', 'a'), output('a')), BAD],
    ['an output of no call', of(user, output('a')), BAD],
    ['an output without an id', of(user, calls('a'), { role: 'tool', content: 'x' }), BAD],
    ['a function without a call', of(user, { role: 'function', name: 'x', content: '' }), BAD],
    ['an unknown model', { model: 'nobody', messages }, 'OPENAI_ERR_UNKNOWN_MODEL'],
    ['several choices', ofModel({ n: 2 }), UNSUPPORTED, 'n'],
    ['too many stop texts', ofModel({ stop: ['1', '2', '3', '4', '5'] }), BAD, 'stop'],
    ['logprobs', ofModel({ logprobs: true }), UNSUPPORTED, 'logprobs'],
    ['top_logprobs', ofModel({ top_logprobs: 3 }), UNSUPPORTED, 'top_logprobs'],
    ['spoken answers', ofModel({ modalities: ['text', 'audio'] }), UNSUPPORTED, 'modalities'],
    ['a voice', ofModel({ audio: { voice: 'x' } }), UNSUPPORTED, 'audio'],
    ['functions and tools', ofModel({ functions: [{ name: 'x' }], tools: [tool] }), BAD],
    ['functions without names', ofModel({ functions: [{}] }), BAD, 'functions[0].name'],
    ['function_call', ofModel({ function_call: 'x' }), BAD, 'function_call'],
    ['web search', ofModel({ web_search_options: {} }), UNSUPPORTED, 'web_search_options'],
    ['a choice of no kind', ofModel({ tools: [tool], tool_choice: 'any' }), BAD, 'tool_choice'],
    ['a tool of another kind', ofModel({ tools: [{ type: 'custom', custom: { name: 'x' } }] }), UNSUPPORTED],
    ['a tool without a name', ofModel({ tools: [{ type: 'function' }] }), BAD],
    [
      'a tool whose schema is no object',
      ofModel({ tools: [{ type: 'function', function: { name: 'x', parameters: { type: 'string' } } }] }),
      INPUT
    ],
    ['a tool twice', ofModel({ tools: [tool, tool] }), INPUT],
    ['metadata of numbers', ofModel({ metadata: { a: 1 } }), BAD],
    ['stream_options of another type', ofModel({ stream_options: 7 }), BAD],
    ['tools for a workflow', { model: 'workflow/flow', messages, tools: [tool] }, 'RUN_ERR_NO_CONVERSATION'],
    ['too many bytes', of({ role: 'user', content: 'x'.repeat(70_000) }), 'OPENAI_ERR_BODY_TOO_LARGE']
  ]
  const check = async (
    to: { baseURL: string },
    name: string,
    body: unknown,
    code: string,
    param?: string | null
  ) => {
    const response = await postCompletion(to, body)
    const { error } = (await response.json()) as { error: Record<string, unknown> }
    t.strictSame(Object.keys(error).toSorted(), ['code', 'message', 'param', 'type'], name)
    t.match([response.status < 500, error['code']], [true, code], `${name}: ${String(error['message'])}`)
    if (param !== undefined) t.equal(error['param'], param, name)
  }
  for (const [name, body, code, param] of cases) await check(app, name, body, code, param)
  await check(plain, 'tools where none are taken', ofModel({ tools: [tool] }), 'RUN_ERR_CLIENT_TOOLS')
  await check(
    plain,
    'instructions',
    of({ role: 'system', content: 'x' }, user),
    'RUN_ERR_CLIENT_INSTRUCTIONS'
  )

  const nulls = {
    stop: null,
    n: null,
    tools: null,
    logprobs: null,
    audio: null,
    stream_options: null,
    metadata: null
  }
  const accepted = ofModel({
    ...nulls,
    temperature: 0,
    max_tokens: 1,
    stop: [],
    tool_choice: 'none',
    extra: { any: 1 }
  })
  t.equal((await postCompletion(app, accepted)).status, 200, 'other parameters are ignored')
  t.equal((await postCompletion(plain, ofModel({ tools: [tool], tool_choice: 'none' }))).status, 200)
})

t.test('a history of 5 MB is taken, up to the limit', async (t) => {
  const app = await openAiApp(t, { runnables: [parrot] })
  const old = Array.from({ length: 50 }, (_, index) => ({
    role: index % 2 === 0 ? 'user' : 'assistant',
    content: 'x'.repeat(100_000)
  }))
  const send = async (...given: object[]) =>
    (await postCompletion(app, { model: 'parrot', messages: [...given, ...messages] })).status
  t.equal(await send(...old), 200)
  t.equal(await send(...old, ...old, ...old), 413)
})

t.test('a client that leaves cancels its run, unless the service says otherwise', async (t) => {
  for (const onDisconnect of ['cancel', 'continue'] as const) {
    const { agent, go } = pausing()
    const app = await openAiApp(t, { runnables: [agent], options: { onDisconnect } })
    const { data: stream, response } = await app
      .client()
      .chat.completions.create({ model: 'pausing', messages, stream: true })
      .withResponse()
    for await (const chunk of stream) if (chunk.choices[0]!.delta.content === 'one') break
    if (onDisconnect === 'continue') go()
    const parts = []
    for await (const part of app.runs.parts(response.headers.get('x-run-id')!)) parts.push(part)
    t.match(parts.at(-1), { finishReason: onDisconnect === 'cancel' ? 'canceled' : 'stop' })
  }
})

t.test('a client that leaves the rest of its run, and a run that is canceled elsewhere', async (t) => {
  const { promise: asked, resolve: ask } = Promise.withResolvers<void>()
  const patient = defineRunnable({
    kind: 'agent',
    name: 'patient',
    async *stream(_input, context) {
      const { runId, signal } = context
      yield { type: 'tool.call', toolCallId: 'a', toolName: 'locate', args: {}, runsAt: 'client' }
      await context.callClient({ toolCallId: 'a', toolName: 'locate', args: {} })
      yield { type: 'tool.result', toolCallId: 'a', toolName: 'locate', result: runId, durationMs: 1 }
      ask()
      await once(signal, 'abort')
      signal.throwIfAborted()
    }
  })
  const app = await openAiApp(t, { runnables: [patient] })
  const create = (given: object[], signal?: AbortSignal) =>
    app
      .client()
      .chat.completions.create(
        { model: 'patient', messages: given as typeof messages, tools: [locateTool] },
        { ...(signal && { signal }) }
      )
  const { choices, id } = await create(messages)
  const { message } = choices[0]!
  const answered = [
    ...messages,
    message,
    { role: 'tool', tool_call_id: message.tool_calls![0]!.id, content: 'x' }
  ]
  const leaving = new AbortController()
  const rest = create(answered, leaving.signal)
  await asked
  leaving.abort()
  await t.rejects(rest)
  const parts = []
  const runId = id.slice('chatcmpl-'.length)
  for await (const part of app.runs.parts(runId)) parts.push(part)
  t.match(parts.at(-1), { finishReason: 'canceled' })

  const other = await create(messages)
  const given = other.choices[0]!.message
  const output = { role: 'tool', tool_call_id: given.tool_calls![0]!.id, content: 'x' }
  const canceled = create([...messages, given, output])
  const ended = t.rejects(canceled, { status: 499, code: 'RUN_ERR_CANCELED' })
  for await (const part of app.runs.parts(other.id.slice('chatcmpl-'.length)))
    if (part.type === 'tool.result') await app.runs.cancel(other.id.slice('chatcmpl-'.length))
  await ended
})

t.test('who calls, and from where', async (t) => {
  const app = await openAiApp(t, { runnables: [parrot], engine: { authenticate } })
  const json = { 'content-type': 'application/json' }
  const send = (headers: Record<string, string>) =>
    postCompletion(app, { model: 'parrot', messages }, { ...json, ...headers })
  const refused = await send({})
  t.match([refused.status, refused.headers.get('www-authenticate')], [401, /Bearer/])
  t.match(await refused.json(), { error: { code: 'OPENAI_ERR_NO_TOKEN', type: 'authentication_error' } })
  t.equal((await send({ authorization: 'Bearer bad' })).status, 401)
  t.equal((await send({ authorization: 'Bearer ann' })).status, 200)
  t.equal(
    (await postCompletion(app, 'x', { 'content-type': 'text/plain', authorization: 'Bearer ann' })).status,
    415
  )
})

t.test('the OpenAPI document has the route, its chunks and its errors', async (t) => {
  const app = await openAiApp(t, { runnables: [parrot] })
  const document = (await (await fetch(`${app.baseURL}/openai/openapi.json`)).json()) as {
    paths: Record<string, { post: { responses: Record<string, { content: object }> } }>
    components: { schemas: Record<string, object> }
  }
  const { responses } = document.paths['/v1/chat/completions']!.post
  t.strictSame(Object.keys(responses['200']!.content), ['application/json', 'text/event-stream'])
  for (const name of ['ChatCompletionBody', 'ChatCompletion', 'ChatCompletionChunk', 'CompletionUsage'])
    t.ok(name in document.components.schemas, name)
})
