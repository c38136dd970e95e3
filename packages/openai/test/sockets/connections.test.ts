import { once } from 'node:events'
import type { Socket } from 'node:net'
import { defineRunnable } from '@svc/registry'
import { authenticate } from '@tools/wires/agents'
import t from 'tap'
import { supportAgent } from '../helpers/agents.ts'
import { gatedAgent, until } from '../helpers/gated-agent.ts'
import { openAiApp } from '../helpers/openai-app.ts'
import { ResponseSocket } from '../helpers/response-socket.ts'

const model = 'support'

t.test('responses that are asked for at once come one after the other', async (t) => {
  const { agent, gates, begun } = gatedAgent()
  const { baseURL } = await openAiApp(t, { runnables: [agent] })
  const socket = new ResponseSocket(baseURL)
  t.teardown(() => socket.ws.close())
  for (const input of ['a', 'b', 'c']) await socket.send({ type: 'response.create', model: 'gated', input })
  for (const [index, input] of ['a', 'b', 'c'].entries()) {
    await until(() => gates.length > index)
    t.same(begun, ['a', 'b', 'c'].slice(0, index + 1))
    gates[index]!()
    const { response } = await socket.answer()
    t.match(response!.output, [{ content: [{ text: `so: ${input}` }] }])
  }
})

t.test('a client that leaves cancels its response, unless the run is to continue', async (t) => {
  for (const onDisconnect of ['cancel', 'continue'] as const) {
    const { agent, gates, aborted } = gatedAgent()
    const { baseURL, runs, app } = await openAiApp(t, { runnables: [agent], options: { onDisconnect } })
    const connections: Socket[] = []
    app.server.on('connection', (connection: Socket) => connections.push(connection))
    const socket = new ResponseSocket(baseURL)
    await socket.send({ type: 'response.create', model: 'gated', input: 'a' })
    await socket.send({ type: 'response.create', model: 'gated', input: 'b' })
    const created = (await socket.next()) as unknown as { response: { id: string } }
    await until(() => gates.length > 0)
    const left = once(connections[0]!, 'close')
    socket.ws.terminate()
    await left
    const runId = created.response.id.slice('resp_'.length)
    if (onDisconnect === 'cancel') await aborted
    else gates[0]!()
    const status = onDisconnect === 'cancel' ? 'canceled' : 'completed'
    while ((await runs.get(runId))?.status === 'working')
      await new Promise((resolve) => setImmediate(resolve))
    t.equal((await runs.get(runId))?.status, status)
    t.equal((await runs.list({ limit: 10 })).runs.length, 1, 'what waited for it does not begin')
  }
})

t.test('events are those of a stream over HTTP', async (t) => {
  const { add } = supportAgent([{ text: ['Hello ', 'Ann'] }])
  const { baseURL, client } = await openAiApp(t, { add })
  const socket = new ResponseSocket(baseURL)
  t.teardown(() => socket.ws.close())
  const { events, response } = await socket.ask({ model, input: 'Hi' })
  const followed = []
  for await (const event of await client().responses.retrieve(response!.id, { stream: true }))
    followed.push(event)
  t.same(events, followed)
})

t.test('a large response comes in pieces of a frame', async (t) => {
  const text = 'x'.repeat(400_000)
  const { add } = supportAgent([text, 'short'])
  const { baseURL } = await openAiApp(t, { add })
  const socket = new ResponseSocket(baseURL)
  t.teardown(() => socket.ws.close())
  const { response } = await socket.ask({ model, input: 'Long' })
  t.match(response!.output, [{ content: [{ text }] }])
  t.match(await socket.ask({ model, input: 'Short' }), { response: { status: 'completed' } })
})

t.test('events that cannot be served are refused one by one', async (t) => {
  const { add } = supportAgent(['Hello'])
  const { baseURL } = await openAiApp(t, { add })
  const socket = new ResponseSocket(baseURL)
  t.teardown(() => socket.ws.close())
  const create = { type: 'response.create', model, input: 'Hi' }
  const refusals: [event: object | string, status: number, code: string, message: RegExp][] = [
    ['{', 400, 'OPENAI_ERR_BAD_JSON', /parsed/],
    ['[]', 400, 'OPENAI_ERR_BAD_REQUEST', /unknown event/],
    ['null', 400, 'OPENAI_ERR_BAD_REQUEST', /unknown event/],
    [`{"a":${'['.repeat(70)}${']'.repeat(70)}}`, 400, 'OPENAI_ERR_BAD_JSON', /deep/],
    [{ type: 'response.cancel' }, 400, 'OPENAI_ERR_BAD_REQUEST', /"response\.cancel"/],
    [{ type: 'response.create', input: 'Hi' }, 400, 'OPENAI_ERR_BAD_REQUEST', /model/],
    [{ ...create, input: 5 }, 400, 'OPENAI_ERR_BAD_REQUEST', /input/],
    [{ ...create, input: [] }, 400, 'RUN_ERR_BAD_INPUT', /input/],
    [
      { ...create, input: [{ role: 'king', content: '' }] },
      400,
      'OPENAI_ERR_BAD_REQUEST',
      /input\[0\]\.role/
    ],
    [{ ...create, background: true }, 400, 'OPENAI_ERR_BAD_REQUEST', /background/],
    [{ ...create, stream_id: '' }, 400, 'OPENAI_ERR_BAD_REQUEST', /stream_id/],
    [{ ...create, stream_id: 'x'.repeat(257) }, 400, 'OPENAI_ERR_BAD_REQUEST', /stream_id/],
    [{ ...create, stream_id: 5 }, 400, 'OPENAI_ERR_BAD_REQUEST', /stream_id/],
    [{ ...create, generate: false, conversation: 'c' }, 400, 'OPENAI_ERR_UNSUPPORTED', /conversation/],
    [{ ...create, model: 'nobody' }, 404, 'OPENAI_ERR_UNKNOWN_MODEL', /nobody/],
    [{ ...create, generate: false, model: 'nobody' }, 404, 'OPENAI_ERR_UNKNOWN_MODEL', /nobody/],
    [{ ...create, previous_response_id: 'resp_x' }, 400, 'previous_response_not_found', /resp_x/],
    [
      { ...create, generate: false, previous_response_id: 'resp_x' },
      400,
      'previous_response_not_found',
      /resp_x/
    ]
  ]
  for (const [event, status, code, message] of refusals) {
    await socket.send(event)
    t.match(
      (await socket.answer()).error,
      { type: 'error', status, error: { code, message } },
      JSON.stringify(event)
    )
  }
  t.match(await socket.ask({ model, input: 'Hi', stream: true, background: null }), {
    response: { status: 'completed' }
  })
})

t.test('a response that fails is an event, and not kept', async (t) => {
  const fail = defineRunnable({
    kind: 'agent',
    name: 'failing',
    takesTurns: true,
    async *stream(input) {
      yield { type: 'text', text: 'a' }
      if (input === 'fail') throw new Error('off')
    }
  })
  const { baseURL } = await openAiApp(t, { runnables: [fail] })
  const socket = new ResponseSocket(baseURL)
  t.teardown(() => socket.ws.close())
  const body = { model: 'failing', store: false }
  const { response } = await socket.ask({ ...body, input: 'Hi' })
  const follow = { ...body, previous_response_id: response!.id }
  t.match(await socket.ask({ ...follow, input: 'fail' }), { response: { status: 'failed' } })
  t.match(await socket.ask({ ...follow, input: 'Hi' }), {
    error: { error: { code: 'previous_response_not_found' } }
  })
})

t.test('connections that break the rules are closed', async (t) => {
  const { agent, gates } = gatedAgent()
  const options = { bodyLimit: 20_000 }
  const { baseURL, app } = await openAiApp(t, { runnables: [agent], options })
  const connections: Socket[] = []
  app.server.on('connection', (connection: Socket) => connections.push(connection))
  const open = async () => {
    const socket = new ResponseSocket(baseURL)
    t.teardown(() => socket.ws.terminate())
    await once(socket.ws, 'open')
    return socket
  }
  const binary = await open()
  binary.ws.send(Buffer.from('{}'), { binary: true })
  t.same(await binary.closed(), [1003, 'OPENAI_ERR_BINARY_FRAME'])
  t.match(binary.received, [{ type: 'error', status: 415 }])

  const large = await open()
  large.ws.send('x'.repeat(20_001))
  t.match(await large.closed(), [1009])

  for (const [count, size] of [
    [18, 10],
    [3, 15_000]
  ] as const) {
    const eager = await open()
    await eager.send({ type: 'response.create', model: 'gated', input: 'a' })
    await until(() => gates.length > 0)
    const { bytesRead } = connections.at(-1)!
    const event = JSON.stringify({ type: 'response.create', model: 'gated', input: 'x'.repeat(size) })
    for (let sent = 0; sent < count; sent++) await eager.send(event)
    await until(() => connections.at(-1)!.bytesRead > bytesRead + count * event.length)
    const closed = eager.closed()
    for (const go of gates.splice(0)) go()
    t.same(await closed, [1008, 'OPENAI_ERR_TOO_MANY_EVENTS'])
    const ended = eager.received.filter(({ type }) => type === 'response.completed')
    t.equal(ended.length, 1, 'the response under way ends in order')
    t.match(eager.received.at(-1), { type: 'error', status: 429 })
  }
})

t.test('callers are those of HTTP', async (t) => {
  const { add } = supportAgent(['Hello', 'Bye'])
  const { baseURL, app, client } = await openAiApp(t, { add, engine: { authenticate } })
  const refusal = async (headers: Record<string, string>) => {
    const { ws } = new ResponseSocket(baseURL, { headers })
    const [, reply] = (await once(ws, 'unexpected-response')) as [unknown, { statusCode: number }]
    ws.on('error', () => {})
    ws.terminate()
    return reply.statusCode
  }
  t.equal(await refusal({}), 401)
  t.equal(await refusal({ cookie: 'a=b', origin: 'https://evil.example', authorization: 'Bearer ann' }), 403)
  const [ann, bob] = ['ann', 'bob'].map(
    (name) => new ResponseSocket(baseURL, { headers: { authorization: `Bearer ${name}` } })
  )
  t.teardown(() => [ann, bob].forEach((socket) => socket!.ws.close()))
  const { response } = await ann!.ask({ model, input: 'Hi' })
  const follow = { model, previous_response_id: response!.id, input: 'And?' }
  t.match((await bob!.ask(follow)).error, { error: { code: 'previous_response_not_found' } })
  t.match(await ann!.ask(follow), { response: { status: 'completed' } })
  t.equal((await client('ann').responses.retrieve(response!.id)).id, response!.id)

  const plain = await app.inject({ url: '/v1/responses', headers: { authorization: 'Bearer ann' } })
  t.match([plain.statusCode, plain.headers['upgrade']], [426, 'websocket'])
  t.match(plain.json(), { error: { code: 'OPENAI_ERR_UPGRADE_REQUIRED' } })
})

t.test('the token of a connection expires', async (t) => {
  const { agent, gates } = gatedAgent()
  const expiring = () => ({ sub: 'ann', scopes: [], exp: Date.now() / 1_000 + 0.3 })
  const { baseURL } = await openAiApp(t, {
    runnables: [agent],
    engine: { authenticate: expiring }
  })
  const socket = new ResponseSocket(baseURL, { headers: { authorization: 'Bearer ann' } })
  const closed = socket.closed()
  await socket.send({ type: 'response.create', model: 'gated', input: 'a' })
  await until(() => gates.length > 0)
  await new Promise((resolve) => setTimeout(resolve, 400))
  gates[0]!()
  t.same(await closed, [3000, 'OPENAI_ERR_TOKEN_EXPIRED'])
  t.same(
    socket.received.map(({ type }) => type).slice(-2),
    ['response.completed', 'error'],
    'the response under way ends in order'
  )
})

t.test('a page of another site on this machine is refused where there is no authentication', async (t) => {
  const { add } = supportAgent(['Hello'])
  const { baseURL } = await openAiApp(t, { add })
  const { ws } = new ResponseSocket(baseURL, { headers: { origin: 'https://evil.example' } })
  const [, reply] = (await once(ws, 'unexpected-response')) as [unknown, { statusCode: number }]
  t.equal(reply.statusCode, 403)
  ws.on('error', () => {})
  ws.terminate()
})

t.test('an app that closes closes its connections', async (t) => {
  const { add } = supportAgent(['Hello'])
  const { baseURL, app } = await openAiApp(t, { add })
  const socket = new ResponseSocket(baseURL)
  await socket.ask({ model, input: 'Hi' })
  const closed = socket.closed()
  await app.close()
  t.match(await closed, [1012])
})
