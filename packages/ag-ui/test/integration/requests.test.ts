import { EventSchemas } from '@ag-ui/core/schemas'
import { defineRunnable } from '@svc/registry'
import { scriptedRunnable } from '@svc/testing'
import agUi from '@svc/ag-ui'
import { Agent } from '@svc/runtime'
import { scriptedModel } from '@svc/runtime/testing'
import { authenticate, send } from '@tools/wires/agents'
import { checkPlugin, leaveEarly, parrot } from '@tools/wires/wire-checks'
import t from 'tap'
import { agUiApp } from '../helpers/agui-app.ts'
import { TestAgent } from '../helpers/test-agent.ts'

const user = (content: unknown, id = 'm1') => ({ id, role: 'user', content })
const called = {
  id: 'm2',
  role: 'assistant',
  toolCalls: [{ id: 'c1', type: 'function', function: { name: 'x', arguments: '{}' } }]
}
const json = { 'content-type': 'application/json' }
const tool = { name: 'locate', description: 'Where' }

t.test('broken requests have an error of the protocol and a status under 500', async (t) => {
  const { url: at } = await agUiApp(t, { runnables: [parrot], options: { bodyLimit: 4_096, jsonDepth: 10 } })
  const url = at('parrot')
  const raw = (body: string, headers: Record<string, string> = json) =>
    fetch(url, { method: 'POST', headers, body })
  const post = (body: object) =>
    raw(JSON.stringify({ threadId: 't', runId: 'r', messages: [user('Hi')], ...body }))
  const say = (...messages: object[]) => post({ messages })
  const resume = [{ interruptId: 'none', status: 'resolved' }]
  const svc = (props: object) => post({ forwardedProps: { svc: props } })
  const deep = `{"threadId":"t","messages":${'['.repeat(20)}${']'.repeat(20)}}`
  const part = (fields: object) => say(user([fields]))
  const cases: [name: string, send: () => Promise<Response>, status: number, code: string][] = [
    ['no body', () => raw(''), 400, 'AGUI_ERR_BAD_JSON'],
    ['no JSON', () => raw('{'), 400, 'AGUI_ERR_BAD_JSON'],
    ['too deep', () => raw(deep), 400, 'AGUI_ERR_BAD_JSON'],
    ['messages that are no list', () => post({ messages: {} }), 400, 'AGUI_ERR_BAD_REQUEST'],
    ['no thread', () => post({ threadId: undefined }), 400, 'AGUI_ERR_BAD_REQUEST'],
    ['a bad thread', () => post({ threadId: 'a\u0000' }), 400, 'AGUI_ERR_BAD_REQUEST'],
    ['no run', () => post({ runId: undefined }), 400, 'AGUI_ERR_BAD_REQUEST'],
    ['an unknown role', () => say({ id: 'm', role: 'x', content: '' }), 400, 'AGUI_ERR_BAD_REQUEST'],
    ['a call without a result', () => say(user('Hi'), called), 400, 'AGUI_ERR_BAD_MESSAGE'],
    ['no content', () => say(user(undefined)), 400, 'AGUI_ERR_BAD_MESSAGE'],
    ['empty content', () => say(user([])), 400, 'AGUI_ERR_BAD_MESSAGE'],
    ['a blank text', () => say(user(' ')), 400, 'RUN_ERR_BAD_INPUT'],
    ['a part that is no object', () => say(user(['x'])), 400, 'AGUI_ERR_BAD_MESSAGE'],
    ['an unknown part', () => part({ type: 'x' }), 400, 'AGUI_ERR_BAD_MESSAGE'],
    ['a part without a source', () => part({ type: 'image' }), 400, 'AGUI_ERR_BAD_MESSAGE'],
    [
      'a file at a provider',
      () => part({ type: 'image', source: { type: 'file', value: 'file-1' } }),
      400,
      'AGUI_ERR_BAD_MESSAGE'
    ],
    [
      'data that is not base64',
      () => part({ type: 'image', source: { type: 'data', value: '*', mimeType: 'image/png' } }),
      400,
      'RUN_ERR_BAD_INPUT'
    ],
    [
      'binary without content',
      () => part({ type: 'binary', mimeType: 'image/png' }),
      400,
      'AGUI_ERR_BAD_MESSAGE'
    ],
    ['an unknown interrupt', () => post({ resume }), 404, 'RUN_ERR_INPUT_NOT_FOUND'],
    ['a bad answer', () => post({ resume: [{ ...resume[0], status: 'x' }] }), 400, 'AGUI_ERR_BAD_REQUEST'],
    [
      'the result of an unknown call',
      () => say(user('Hi'), called, { id: 'm3', role: 'tool', toolCallId: 'c1', content: '1' }),
      400,
      'AGUI_ERR_NOTHING_ANSWERED'
    ],
    [
      'the result of a call of an unknown run',
      () => say({ id: 'm3', role: 'tool', toolCallId: 'x-call-1', content: '1' }),
      404,
      'RUN_ERR_NOT_FOUND'
    ],
    ['tools where none are taken', () => post({ tools: [tool] }), 403, 'RUN_ERR_CLIENT_TOOLS'],
    [
      'a tool whose schema is none',
      () => post({ tools: [{ ...tool, parameters: 1 }] }),
      400,
      'AGUI_ERR_BAD_REQUEST'
    ],
    ['a tool without a name', () => post({ tools: [{ description: '' }] }), 400, 'AGUI_ERR_BAD_REQUEST'],
    ['context that is none', () => post({ context: [{ a: 1 }] }), 400, 'AGUI_ERR_BAD_REQUEST'],
    ['an unknown property', () => svc({ x: 1 }), 400, 'AGUI_ERR_BAD_REQUEST'],
    ['a bad property', () => svc({ whenBusy: 'x' }), 400, 'AGUI_ERR_BAD_REQUEST'],
    ['a turn where there are none', () => svc({ afterTurn: 'x' }), 400, 'RUN_ERR_BAD_INPUT'],
    [
      'an unknown agent',
      () =>
        fetch(at('nobody'), {
          method: 'POST',
          headers: json,
          body: '{"threadId":"t","runId":"r","messages":[{"id":"m","role":"user","content":"Hi"}]}'
        }),
      404,
      'AGUI_ERR_UNKNOWN_RUNNABLE'
    ],
    ['too many bytes', () => say(user('x'.repeat(5_000))), 413, 'AGUI_ERR_BODY_TOO_LARGE'],
    [
      'another type',
      () => raw('x', { 'content-type': 'text/plain' }),
      415,
      'AGUI_ERR_UNSUPPORTED_MEDIA_TYPE'
    ],
    [
      'a compressed body',
      () => raw('x', { ...json, 'content-encoding': 'gzip' }),
      415,
      'AGUI_ERR_UNSUPPORTED_MEDIA_TYPE'
    ],
    ['an unknown query', () => fetch(`${url}/threads/t/connect?x=1`), 400, 'AGUI_ERR_BAD_REQUEST'],
    ['a bad limit', () => fetch(`${url}/threads/t/connect?limit=0`), 400, 'AGUI_ERR_BAD_REQUEST'],
    ['a file of an unknown run', () => fetch(`${url}/threads/t/files/x/y`), 404, 'RUN_ERR_NOT_FOUND']
  ]
  for (const [name, request, status, code] of cases) {
    const response = await request()
    const body: unknown = await response.json()
    t.match(
      [response.status, body],
      [status, { type: 'RUN_ERROR', code, metadata: { statusCode: status } }],
      name
    )
    EventSchemas.parse(body)
  }
  const lax = {
    extra: { any: 'field' },
    state: null,
    tools: null,
    context: null,
    resume: null,
    forwardedProps: null
  }
  t.equal((await post(lax)).status, 200, 'other fields are ignored, and null is nothing')
})

t.test('a history of 5 MB is taken, up to the limit', async (t) => {
  const { url } = await agUiApp(t, { runnables: [parrot] })
  const old = Array.from({ length: 50 }, (_, index) => ({
    id: `m-${index}`,
    role: index % 2 === 0 ? 'user' : 'assistant',
    content: 'x'.repeat(100_000)
  }))
  const post = async (messages: object[]) => {
    const body = JSON.stringify({ threadId: 't', runId: 'r', messages: [...messages, user('Hi', 'last')] })
    return (await fetch(url('parrot'), { method: 'POST', headers: json, body })).status
  }
  t.equal(await post(old), 200)
  t.equal(await post([...old, ...old, ...old]), 413)
})

t.test('a body that breaks off, and a client that leaves at once, do no harm', async (t) => {
  const { url } = await agUiApp(t, { runnables: [parrot] })
  await leaveEarly(t, url('parrot'), { threadId: 't', runId: 'r', messages: [user('Hi')] })
  const agent = new TestAgent({ url: url('parrot') })
  await agent.say('Hi')
  t.equal(agent.text, 'Hello')
})

t.test('a thread belongs to its owner; others do not find it', async (t) => {
  const { promise: may, resolve: go } = Promise.withResolvers<void>()
  const slow = defineRunnable({
    kind: 'agent',
    name: 'slow',
    async *stream() {
      yield { type: 'text', text: 'one' }
      await may
    }
  })
  const { url, origin, runs } = await agUiApp(t, {
    runnables: [parrot, slow],
    add(registry) {
      const model = scriptedModel([{ toolCalls: [{ toolName: 'send', args: { to: 'ann' } }] }, 'Done'])
      new Agent({ name: 'support', model, registry, tools: [send] })
    },
    engine: { authenticate }
  })
  const as = (token: string) => ({ headers: { authorization: `Bearer ${token}` } })
  const ann = new TestAgent({ url: url('slow'), ...as('ann') })
  const sent = ann.say('Hi')
  await ann.until(({ text }) => text === 'one')
  const thread = `${url('slow')}/threads/${ann.threadId}`
  t.equal((await fetch(`${thread}/connect`)).status, 401)
  const refused = await fetch(`${thread}/connect`, as('bad'))
  t.match([refused.status, refused.headers.get('www-authenticate')], [401, /invalid_token/])
  const bob = new TestAgent({ url: url('slow'), threadId: ann.threadId, ...as('bob') })
  await bob.connectAgent()
  t.same(bob.events, [])
  t.equal((await fetch(`${thread}/run`, { method: 'DELETE', ...as('bob') })).status, 204)
  t.equal((await fetch(`${thread}/files/${ann.runId}/x`, as('bob'))).status, 404)
  t.equal((await runs.find(ann.runId))!.status, 'working', 'he cancels nothing')
  go()
  await sent

  t.comment('nor may others answer')
  const asked = new TestAgent({ url: url('support'), ...as('ann') })
  await asked.say('Mail')
  const resume = [{ interruptId: asked.pendingInterrupts[0]!.id, status: 'resolved' as const, payload: true }]
  const other = new TestAgent({ url: url('support'), threadId: asked.threadId, ...as('bob') })
  await t.rejects(other.runAgent({ resume }), { message: /RUN_ERR_INPUT_NOT_FOUND/ })
  const elsewhere = new TestAgent({ url: url('support'), threadId: 'another', ...as('ann') })
  await t.rejects(elsewhere.runAgent({ resume }), { message: /RUN_ERR_INPUT_NOT_FOUND/ })
  await asked.runAgent({ resume })
  t.equal(asked.text, 'Done')

  t.comment('cookies: only from the same origin')
  const post = (headers: Record<string, string>) =>
    fetch(url('parrot'), {
      method: 'POST',
      headers: { ...json, cookie: 'token=ann', ...headers },
      body: JSON.stringify({ threadId: 't', runId: 'r', messages: [user('Hi')] })
    })
  t.equal((await post({ origin })).status, 200)
  t.equal((await post({ origin: 'https://evil.example' })).status, 403)
})

t.test('the policy decides who may run what, and the options what clients add', async (t) => {
  const refused = await agUiApp(t, {
    runnables: [parrot],
    options: { authorize: (_, action) => ({ allowed: false, missing: `agents:${action}` }) }
  })
  await t.rejects(new TestAgent({ url: refused.url('parrot') }).say('Hi'), {
    message: /agents:run.*AGUI_ERR_MISSING_SCOPE/
  })
  const seen: unknown[] = []
  const agent = scriptedRunnable([
    ({ instructions, clientTools }) => void seen.push([instructions, clientTools])
  ])
  const { url } = await agUiApp(t, {
    runnables: [agent],
    options: { clientInstructions: true, clientTools: true }
  })
  const client = new TestAgent({
    url: url('scripted'),
    initialMessages: [{ id: 's', role: 'system', content: 'Be kind' }]
  })
  await client.say('Hi', { tools: [tool] })
  t.strictSame(seen, [
    ['Be kind', [{ name: 'locate', description: 'Where', input: { type: 'object', properties: {} } }]]
  ])
})

t.test('the OpenAPI document has all routes', async (t) => {
  const { origin } = await agUiApp(t, { runnables: [parrot], engine: { authenticate } })
  const document = (await (await fetch(`${origin}/api/ag-ui/openapi.json`)).json()) as {
    paths: Record<string, object>
    components: { schemas: object }
  }
  t.match(document, { openapi: '3.0.3', security: [{ bearer: [] }] })
  t.same(
    Object.keys(document.paths).filter((path) => path.startsWith('/api/ag-ui/{name}')),
    [
      '/api/ag-ui/{name}',
      '/api/ag-ui/{name}/threads/{threadId}/connect',
      '/api/ag-ui/{name}/threads/{threadId}/run',
      '/api/ag-ui/{name}/threads/{threadId}/files/{runId}/{fileId}'
    ]
  )
  for (const name of ['RunAgentInput', 'SvcProps', 'Event']) t.ok(name in document.components.schemas, name)
})

t.test('bad options are refused, and an app without an engine gets one', async (t) => {
  await checkPlugin(t, agUi, 'AGUI_ERR_BAD_OPTION')
})
