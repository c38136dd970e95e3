import { defineRunnable } from '@svc/registry'
import uiStream from '@svc/ui-stream'
import { authenticate } from '@tools/wires/agents'
import { checkPlugin, leaveEarly, parrot } from '@tools/wires/wire-checks'
import t from 'tap'
import { chatApp } from '../helpers/chat-app.ts'
import { TestChat } from '../helpers/test-chat.ts'

const user = (text: string, id = 'm1') => ({ id, role: 'user', parts: [{ type: 'text', text }] })
const json = { 'content-type': 'application/json' }

t.test('broken requests have a clear error and a status under 500', async (t) => {
  const { api } = await chatApp(t, { runnables: [parrot], options: { bodyLimit: 4_096, jsonDepth: 10 } })
  const url = api('parrot')
  const post = (body: unknown, headers: Record<string, string> = json) =>
    fetch(url, { method: 'POST', headers, body: typeof body === 'string' ? body : JSON.stringify(body) })
  const messages = [user('Hi')]
  const deep = `{"id":"c","messages":${'['.repeat(20)}${']'.repeat(20)}}`
  const cases: [name: string, send: () => Promise<Response>, status: number, code: string][] = [
    ['no body', () => post(''), 400, 'UI_ERR_BAD_JSON'],
    ['no JSON', () => post('{'), 400, 'UI_ERR_BAD_JSON'],
    ['too deep', () => post(deep), 400, 'UI_ERR_BAD_JSON'],
    ['no messages', () => post({ id: 'c', messages: [] }), 400, 'UI_ERR_BAD_REQUEST'],
    ['no id', () => post({ messages }), 400, 'UI_ERR_BAD_REQUEST'],
    ['a bad id', () => post({ id: 'a\u0000', messages }), 400, 'UI_ERR_BAD_REQUEST'],
    ['an unknown trigger', () => post({ id: 'c', messages, trigger: 'x' }), 400, 'UI_ERR_BAD_REQUEST'],
    [
      'an unknown role',
      () => post({ id: 'c', messages: [{ ...user('x'), role: 'x' }] }),
      400,
      'UI_ERR_BAD_REQUEST'
    ],
    [
      'a message of the system',
      () => post({ id: 'c', messages: [{ ...user('x'), role: 'system' }] }),
      400,
      'UI_ERR_BAD_MESSAGE'
    ],
    ['no parts', () => post({ id: 'c', messages: [{ ...user('x'), parts: [] }] }), 400, 'UI_ERR_BAD_MESSAGE'],
    ['a blank text', () => post({ id: 'c', messages: [user(' ')] }), 400, 'RUN_ERR_BAD_INPUT'],
    [
      'a part of an answer',
      () => post({ id: 'c', messages: [{ ...user('x'), parts: [{ type: 'tool-x' }] }] }),
      400,
      'UI_ERR_BAD_MESSAGE'
    ],
    [
      'a file without a URL',
      () =>
        post({ id: 'c', messages: [{ ...user('x'), parts: [{ type: 'file', mediaType: 'image/png' }] }] }),
      400,
      'UI_ERR_BAD_MESSAGE'
    ],
    [
      'a data URL that is not base64',
      () =>
        post({
          id: 'c',
          messages: [
            {
              ...user('x'),
              parts: [{ type: 'file', mediaType: 'image/png', url: 'data:image/png;base64,*' }]
            }
          ]
        }),
      400,
      'RUN_ERR_BAD_INPUT'
    ],
    ['tools where none are taken', () => post({ id: 'c', messages, tools: [] }), 403, 'RUN_ERR_CLIENT_TOOLS'],
    [
      'instructions where none are taken',
      () => post({ id: 'c', messages, instructions: 'x' }),
      403,
      'RUN_ERR_CLIENT_INSTRUCTIONS'
    ],
    [
      'the answer of an unknown run',
      () => post({ id: 'c', messages: [{ id: 'x', role: 'assistant', parts: [] }] }),
      404,
      'RUN_ERR_NOT_FOUND'
    ],
    [
      'an unknown agent',
      () =>
        fetch(api('nobody'), { method: 'POST', headers: json, body: JSON.stringify({ id: 'c', messages }) }),
      404,
      'UI_ERR_UNKNOWN_RUNNABLE'
    ],
    [
      'too many bytes',
      () => post({ id: 'c', messages: [user('x'.repeat(5_000))] }),
      413,
      'UI_ERR_BODY_TOO_LARGE'
    ],
    ['another type', () => post('x', { 'content-type': 'text/plain' }), 415, 'UI_ERR_UNSUPPORTED_MEDIA_TYPE'],
    [
      'a compressed body',
      () => post('x', { ...json, 'content-encoding': 'gzip' }),
      415,
      'UI_ERR_UNSUPPORTED_MEDIA_TYPE'
    ],
    ['an unknown query', () => fetch(`${url}/c/stream?x=1`), 400, 'UI_ERR_BAD_REQUEST'],
    ['a bad limit', () => fetch(`${url}/c?limit=0`), 400, 'UI_ERR_BAD_REQUEST'],
    ['an unknown chat', () => fetch(`${url}/c`), 404, 'RUN_ERR_SESSION_NOT_FOUND'],
    ['a file of an unknown run', () => fetch(`${url}/c/files/x/y`), 404, 'RUN_ERR_NOT_FOUND']
  ]
  for (const [name, send, status, code] of cases) {
    const response = await send()
    t.match([response.status, await response.json()], [status, { code, statusCode: status }], name)
  }
  t.equal(
    (await post({ id: 'c', messages, extra: { any: 'field' } })).status,
    200,
    'other fields are ignored'
  )
})

t.test('a history of 5 MB is taken, up to the limit', async (t) => {
  const { api } = await chatApp(t, { runnables: [parrot] })
  const old = Array.from({ length: 50 }, (_, index) => ({
    id: `m-${index}`,
    role: index % 2 === 0 ? 'user' : 'assistant',
    parts: [{ type: 'text', text: 'x'.repeat(100_000) }]
  }))
  const send = async (messages: object[]) => {
    const body = JSON.stringify({ id: 'c', messages: [...messages, user('Hi', 'last')] })
    return (await fetch(api('parrot'), { method: 'POST', headers: json, body })).status
  }
  t.equal(await send(old), 200)
  t.equal(await send([...old, ...old, ...old]), 413)
})

t.test('a body that breaks off, and a client that leaves at once, do no harm', async (t) => {
  const { api } = await chatApp(t, { runnables: [parrot] })
  await leaveEarly(t, api('parrot'), { id: 'c', messages: [user('Hi')] })
  const chat = new TestChat(api('parrot'))
  await chat.sendMessage({ text: 'Hi' })
  t.equal(chat.text, 'Hello')
})

t.test('a chat belongs to its owner; others do not find it', async (t) => {
  const { promise: may, resolve: go } = Promise.withResolvers<void>()
  const slow = defineRunnable({
    kind: 'agent',
    name: 'slow',
    async *stream() {
      yield { type: 'text', text: 'one' }
      await may
    }
  })
  const { api, origin, runs } = await chatApp(t, { runnables: [parrot, slow], engine: { authenticate } })
  const as = (token: string) => ({ headers: { authorization: `Bearer ${token}` } })
  const ann = new TestChat(api('slow'), as('ann'))
  const sent = ann.sendMessage({ text: 'Hi' })
  await ann.until(({ text }) => text === 'one')
  const url = `${api('slow')}/${ann.id}`
  const { runId } = ann.lastMessage!.metadata!

  t.equal((await fetch(url)).status, 401)
  const refused = await fetch(url, as('bad'))
  t.match([refused.status, refused.headers.get('www-authenticate')], [401, /invalid_token/])
  t.equal((await fetch(url, as('bob'))).status, 404)
  t.equal((await fetch(`${url}/stream`, as('bob'))).status, 204)
  t.equal((await fetch(`${url}/stream`, { method: 'DELETE', ...as('bob') })).status, 204)
  t.equal((await fetch(`${url}/files/${runId!}/x`, as('bob'))).status, 404)
  t.equal((await runs.find(runId!))!.status, 'working', 'he cancels nothing')
  const bob = new TestChat(api('slow'), { ...as('bob'), id: ann.id, messages: ann.messages })
  await bob.sendMessage()
  t.match(JSON.parse(bob.error!.message), { code: 'RUN_ERR_NOT_FOUND' })
  const elsewhere = new TestChat(api('slow'), { ...as('ann'), id: 'another', messages: ann.messages })
  await elsewhere.sendMessage()
  t.match(JSON.parse(elsewhere.error!.message), { code: 'RUN_ERR_NOT_FOUND' }, 'nor in another chat')
  t.equal((await fetch(`${api('slow')}/another/files/${runId!}/x`, as('ann'))).status, 404)
  t.equal((await fetch(url, as('ann'))).status, 200)
  go()
  await sent

  t.comment('cookies: only from the same origin')
  const post = (headers: Record<string, string>) =>
    fetch(api('parrot'), {
      method: 'POST',
      headers: { ...json, cookie: 'token=ann', ...headers },
      body: JSON.stringify({ id: 'c', messages: [user('Hi')] })
    })
  t.equal((await post({ origin })).status, 200)
  t.equal((await post({ origin: 'https://evil.example' })).status, 403)
})

t.test('the policy decides who may run what', async (t) => {
  const { api } = await chatApp(t, {
    runnables: [parrot],
    options: { authorize: (_, action) => ({ allowed: false, missing: `agents:${action}` }) }
  })
  const chat = new TestChat(api('parrot'))
  await chat.sendMessage({ text: 'Hi' })
  t.match(JSON.parse(chat.error!.message), { code: 'UI_ERR_MISSING_SCOPE', message: /agents:run/ })
})

t.test('the OpenAPI document has all routes', async (t) => {
  const { origin } = await chatApp(t, { runnables: [parrot], engine: { authenticate } })
  const document = (await (await fetch(`${origin}/api/chat/openapi.json`)).json()) as {
    paths: Record<string, object>
    components: { schemas: object }
  }
  t.match(document, { openapi: '3.0.3', security: [{ bearer: [] }] })
  t.same(
    Object.keys(document.paths).filter((path) => path.startsWith('/api/chat/{name}')),
    [
      '/api/chat/{name}',
      '/api/chat/{name}/{id}',
      '/api/chat/{name}/{id}/stream',
      '/api/chat/{name}/{id}/files/{runId}/{fileId}'
    ]
  )
  t.ok('ChatBody' in document.components.schemas && 'UIMessageChunk' in document.components.schemas)
})

t.test('bad options are refused, and an app without an engine gets one', async (t) => {
  await checkPlugin(t, uiStream, 'UI_ERR_BAD_OPTION')
})
