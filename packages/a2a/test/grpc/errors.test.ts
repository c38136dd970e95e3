import { credentials, status, type Metadata } from '@grpc/grpc-js'
import { grpcBinding } from '@svc/a2a/grpc'
import { expose, type RunnableDefinition } from '@svc/registry'
import t, { type Test } from 'tap'
import type { A2aOptions } from '../../src/options.ts'
import { failing } from '../helpers/agents.ts'
import { askByRest } from '../helpers/ask.ts'
import { buildApp, echo, sayV1 } from '../helpers/build-app.ts'
import { connectGrpc, detailsOf, failureOf, grpcUrlOf, type GrpcTestClient } from '../helpers/grpc-client.ts'

async function serve(t: Test, options: A2aOptions = {}, runnables: RunnableDefinition[] = [echo]) {
  const app = await buildApp(t, { runnables, options: { grpc: grpcBinding({ port: 0 }), ...options } })
  const url = await grpcUrlOf(app.origin)
  return { app, url, client: connectGrpc(t, url), legacy: connectGrpc(t, url, '0.3') }
}

const say = (text: string, fields: object = {}) => sayV1(text, fields)
const legacySay = { message: { messageId: 'm', role: 'ROLE_USER', content: [{ text: 'x' }] } }

t.test('each error has the status of the specification, its reason and its fields', async (t) => {
  const { client, legacy } = await serve(t, {
    extensions: [{ uri: 'https://example.org/x', required: true }]
  })
  const bare = await serve(t)
  const { task } = (await bare.client.call('SendMessage', say('x'))) as { task: { id: string } }
  const { id } = task
  const push = { taskId: id, url: 'http://127.0.0.1:9/' }
  type Case = [
    code: status,
    reason: string,
    client: GrpcTestClient,
    method: string,
    params: object,
    field?: string
  ]
  const cases: Case[] = [
    [status.NOT_FOUND, 'TASK_NOT_FOUND', client, 'GetTask', { id: 'nothing' }],
    [status.NOT_FOUND, 'TASK_NOT_FOUND', client, 'SubscribeToTask', { id: 'nothing' }],
    [status.FAILED_PRECONDITION, 'TASK_NOT_CANCELABLE', bare.client, 'CancelTask', { id }],
    [
      status.FAILED_PRECONDITION,
      'PUSH_NOTIFICATION_NOT_SUPPORTED',
      bare.client,
      'CreateTaskPushNotificationConfig',
      push
    ],
    [status.FAILED_PRECONDITION, 'UNSUPPORTED_OPERATION', bare.client, 'SubscribeToTask', { id }],
    [status.FAILED_PRECONDITION, 'UNSUPPORTED_OPERATION', bare.client, 'GetExtendedAgentCard', {}],
    [status.FAILED_PRECONDITION, 'EXTENSION_SUPPORT_REQUIRED', client, 'SendMessage', say('x')],
    [status.INVALID_ARGUMENT, 'A2A_ERR_BAD_PARAMS', client, 'SendMessage', {}, 'message'],
    [
      status.INVALID_ARGUMENT,
      'A2A_ERR_BAD_PARAMS',
      client,
      'SendMessage',
      say('x', { role: 'ROLE_AGENT' }),
      'message.role'
    ],
    [status.INVALID_ARGUMENT, 'A2A_ERR_BAD_PARAMS', client, 'ListTasks', { pageSize: 1000 }, 'pageSize'],
    [
      status.INVALID_ARGUMENT,
      'A2A_ERR_BAD_PARAMS',
      client,
      'GetTask',
      { id: 'x', tenant: 'no\uD800body' },
      'tenant'
    ],
    [status.NOT_FOUND, 'TASK_NOT_FOUND', legacy, 'GetTask', { name: 'tasks/nothing' }],
    [status.INVALID_ARGUMENT, 'A2A_ERR_BAD_PARAMS', legacy, 'GetTask', { name: 'nothing' }, 'name'],
    [status.INVALID_ARGUMENT, 'A2A_ERR_BAD_PARAMS', legacy, 'DeleteTaskPushNotificationConfig', {}, 'name'],
    [status.FAILED_PRECONDITION, 'TASK_NOT_CANCELABLE', bare.legacy, 'CancelTask', { name: `tasks/${id}` }],
    [
      status.UNIMPLEMENTED,
      'PUSH_NOTIFICATION_NOT_SUPPORTED',
      bare.legacy,
      'ListTaskPushNotificationConfig',
      { parent: `tasks/${id}` }
    ],
    [status.FAILED_PRECONDITION, 'EXTENDED_AGENT_CARD_NOT_CONFIGURED', bare.legacy, 'GetAgentCard', {}]
  ]
  for (const [code, reason, to, method, params, field] of cases) {
    const isStream = method === 'SubscribeToTask'
    const err = await failureOf(isStream ? to.stream(method, params) : to.call(method, params))
    t.equal(err.code, code, `${method} ${err.message}`)
    const [info, bad] = detailsOf(err)
    const domain = reason.startsWith('A2A_ERR') ? 'svc' : 'a2a-protocol.org'
    t.match(info, { type: 'ErrorInfo', reason, domain })
    t.match(bad, field === undefined ? undefined : { type: 'BadRequest', fieldViolations: [{ field }] })
  }
})

t.test('a version that is not served; a service of it is unknown', async (t) => {
  const { client, url } = await serve(t, { versions: ['1.0'] })
  const metadata = { 'a2a-version': '9.0' }
  const err = await failureOf(client.call('ListTasks', {}, { metadata }))
  t.equal(err.code, status.FAILED_PRECONDITION)
  t.match(detailsOf(err), [{ reason: 'VERSION_NOT_SUPPORTED', metadata: { supportedVersions: '1.0' } }])
  t.match(await client.call('ListTasks', {}, { metadata: { 'a2a-version': '1.0.1' } }), { pageSize: 50 })
  const old = connectGrpc(t, url, '0.3')
  t.equal((await failureOf(old.call('SendMessage', legacySay))).code, status.UNIMPLEMENTED)
})

t.test('internals are in the log only; the failure of a run is no failure of the call', async (t) => {
  const { client } = await serve(
    t,
    {
      authenticate: async () => ({ sub: 'me', scopes: [] }),
      extendedCard: () => {
        throw new Error('secret of the inside')
      }
    },
    [failing]
  )
  const err = await failureOf(client.call('GetExtendedAgentCard', {}))
  t.equal(err.code, status.INTERNAL)
  t.equal(err.details, 'Internal error')
  t.notMatch(JSON.stringify([err.metadata.getMap(), detailsOf(err)]), 'secret')
  t.match(await client.call('SendMessage', say('x')), { task: { status: { state: 'TASK_STATE_FAILED' } } })
})

t.test('credentials: the status, a challenge, and no message of the refused is read', async (t) => {
  const seen: object[] = []
  const { client, url } = await serve(t, {
    async authenticate({ token, headers, cookies }) {
      seen.push({ token, key: headers['x-key'], cookies, cookie: headers.cookie })
      if (token === 'broken') throw Object.assign(new Error('secret'), { statusCode: 500 })
      if (token === 'limited')
        throw expose({ code: 'APP_ERR_RATE', message: 'Too many', statusCode: 429, retryAfter: 7 })
      if (token === 'bad') throw new Error('not signed')
      return token === undefined ? null : { sub: token, scopes: [] }
    },
    authorize: async ({ sub }) => ({ allowed: sub === 'me', scope: 'agents:run' })
  })
  const ask = (authorization?: string, more: object = {}) =>
    client.call('SendMessage', say('x'), { metadata: { ...(authorization && { authorization }), ...more } })
  for (const [authorization, code, challenge] of [
    [undefined, status.UNAUTHENTICATED, /^Bearer$/],
    ['Bearer bad', status.UNAUTHENTICATED, /invalid_token/],
    ['Bearer you', status.PERMISSION_DENIED, /insufficient_scope/],
    ['Bearer broken', status.INTERNAL, /^undefined$/],
    ['Bearer limited', status.RESOURCE_EXHAUSTED, /^undefined$/]
  ] as const) {
    const err = await failureOf(ask(authorization))
    t.equal(err.code, code, err.message)
    t.match(String(err.metadata.get('www-authenticate')[0]), challenge)
    t.notMatch(err.message, 'secret')
    if (authorization === 'Bearer limited')
      t.match(detailsOf(err), [{ reason: 'APP_ERR_RATE' }, { type: 'RetryInfo', retryDelay: '7s' }])
  }
  t.match(await ask('bearer me', { 'x-key': 'k', cookie: 'a=b' }), { task: { status: {} } })
  t.same(seen.at(-1), { token: 'me', key: 'k', cookies: {}, cookie: undefined })

  // A message that is no message: refused for its sender, not for its bytes.
  const err = await failureOf(client.send('SendMessage', Buffer.from('ffff', 'hex')))
  t.equal(err.code, status.UNAUTHENTICATED)
  const streamed = await failureOf(connectGrpc(t, url, '0.3').stream('SendStreamingMessage', legacySay))
  t.equal(streamed.code, status.UNAUTHENTICATED)
})

t.test('tasks of others do not exist', async (t) => {
  const { client } = await serve(t, { authenticate: async ({ token = '' }) => ({ sub: token, scopes: [] }) })
  const as = (sub: string) => ({ metadata: { authorization: `Bearer ${sub}` } })
  const { task } = (await client.call('SendMessage', say('x'), as('one'))) as { task: { id: string } }
  t.match(await client.call('GetTask', { id: task.id }, as('one')), { id: task.id })
  t.equal((await failureOf(client.call('GetTask', { id: task.id }, as('two')))).code, status.NOT_FOUND)
  t.match(await client.call('ListTasks', {}, as('two')), { tasks: undefined })
})

t.test('limits: bytes, nesting, details of an error', async (t) => {
  const { client, app } = await serve(t, { limits: { bodyLimit: 10_000, jsonDepth: 8 } })
  const large = await failureOf(client.call('SendMessage', say('x'.repeat(11_000))))
  t.equal(large.code, status.RESOURCE_EXHAUSTED)
  t.match(
    await client.call('SendMessage', say('x'.repeat(9_000))),
    { task: {} },
    'the same connection serves on'
  )
  // As deep as over HTTP+JSON.
  for (const [levels, isDeep] of [
    [4, false],
    [5, true]
  ] as const) {
    let data: unknown = 1
    for (let level = 0; level < levels; level++) data = [data]
    const params = say('', { parts: [{ data }] })
    const [rest] = await askByRest(app, 'POST /message:send', params)
    t.equal('error' in (rest as object), isDeep, `${levels} over HTTP+JSON`)
    const sent = client.call('SendMessage', params)
    if (!isDeep) t.match(await sent, { task: {} })
    else t.match(await failureOf(sent), { code: status.INVALID_ARGUMENT, details: /nested too deep/ })
  }
  const long = await failureOf(client.call('GetTask', { id: 'x', tenant: '\u0001é\n'.repeat(2_000) }))
  t.equal(long.code, status.INVALID_ARGUMENT)
  t.ok(JSON.stringify(long.metadata.toHttp2Headers()).length < 8_000)
})

t.test('extensions are named in metadata, in the words of the version', async (t) => {
  const uri = 'https://example.org/brief'
  const { client, legacy } = await serve(t, { extensions: [{ uri }] }, [
    {
      kind: 'agent',
      name: 'a',
      run: async (_input, { envelope }) => JSON.stringify(envelope.extensions ?? [])
    }
  ])
  const answer = { task: { artifacts: [{ parts: [{ text: JSON.stringify([uri]) }] }] } }
  let echoed: Metadata | undefined
  const onMetadata = (metadata: Metadata) => (echoed = metadata)
  const named = `${uri}, https://example.org/other`
  t.match(
    await client.call('SendMessage', say('x'), { metadata: { 'a2a-extensions': named }, onMetadata }),
    answer
  )
  t.same(echoed?.get('a2a-extensions'), [uri])
  t.match(
    await legacy.call('SendMessage', legacySay, { metadata: { 'x-a2a-extensions': uri }, onMetadata }),
    answer
  )
  t.same(echoed?.get('x-a2a-extensions'), [uri])
})

t.test('credentials of the option are checked', async (t) => {
  for (const options of [
    {},
    { port: -1 },
    { port: 0, host: '' },
    { port: 0, url: 'http://example.org' },
    { port: 0, credentials: { key: 'x' } },
    { port: 0, credentials: credentials.createInsecure, more: 1 },
    { port: 0, maxMessageBytes: 0 }
  ])
    t.throws(() => grpcBinding(options as never), { code: 'A2A_ERR_BAD_OPTION' }, JSON.stringify(options))
})
