import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { A2AService } from '@a2a-js/sdk/server/grpc'
import { credentials, makeClientConstructor, Metadata, status, type ServiceError } from '@grpc/grpc-js'
import { grpcBinding, type GrpcBindingOptions } from '@svc/a2a/grpc'
import { A2AService as A2AServiceV03 } from 'a2a-sdk-v0.3/server/grpc'
import t, { type Test } from 'tap'
import { createWaiting } from '../helpers/agents.ts'
import { buildApp, echo, sayV1, type AppRequest } from '../helpers/build-app.ts'
import { officialCodec } from '../helpers/published/official-codec.ts'

type Method = (
  request: unknown,
  metadata: Metadata,
  done: (err: ServiceError | null, answer: unknown) => void
) => { on(event: string, listen: (value: Metadata) => void): unknown }

interface Outcome {
  /** The name of the status. */
  status: string
  message?: string
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into it by `match`
  answer?: any
  /** The text in the details of an error. */
  details?: string
  headers?: Metadata
}

const UNARY = {
  sendMessage: ['SendMessageRequest', 'SendMessageResponse'],
  getTask: ['GetTaskRequest', 'Task'],
  listTasks: ['ListTasksRequest', 'ListTasksResponse'],
  cancelTask: ['CancelTaskRequest', 'Task'],
  createTaskPushNotificationConfig: ['TaskPushNotificationConfig', 'TaskPushNotificationConfig'],
  getTaskPushNotificationConfig: ['GetTaskPushNotificationConfigRequest', 'TaskPushNotificationConfig'],
  listTaskPushNotificationConfigs: [
    'ListTaskPushNotificationConfigsRequest',
    'ListTaskPushNotificationConfigsResponse'
  ],
  getExtendedAgentCard: ['GetExtendedAgentCardRequest', 'AgentCard']
} as const
type Unary = keyof typeof UNARY

/** A service over gRPC; `call` sends a request in the JSON of the proto. */
async function serve(
  t: Test,
  options: AppRequest['options'] = {},
  binding: Partial<GrpcBindingOptions> = {}
) {
  const waiting = createWaiting()
  const app = await buildApp(t, {
    runnables: [echo, waiting.runnable],
    options: { ...options, grpc: grpcBinding({ port: 0, ...binding }) }
  })
  const card = (await (
    await fetch(`${app.origin}/.well-known/agent-card.json`, { headers: { 'a2a-version': '1.0' } })
  ).json()) as { supportedInterfaces: { url: string; protocolBinding: string; protocolVersion: string }[] }
  const address = card.supportedInterfaces.find(({ protocolBinding }) => protocolBinding === 'GRPC')!.url
  const connect = (service: object, how = credentials.createInsecure()) => {
    const Client = makeClientConstructor(service as never, 'A2A')
    const client = new Client(address, how)
    t.teardown(() => client.close())
    return client as unknown as Record<string, Method>
  }
  const client = connect(A2AService)
  const call = (method: Unary, params: object, given: Record<string, string> = {}) => {
    const [request, answer] = UNARY[method]
    const message = officialCodec(request)!.fromJSON(params)
    return invoke(client, method, message, given, (got) => officialCodec(answer)!.toJSON(got as never))
  }
  return { app, address, call, connect, interfaces: card.supportedInterfaces }
}

function invoke(
  client: Record<string, Method>,
  method: string,
  message: unknown,
  given: Record<string, string>,
  read: (answer: unknown) => unknown
): Promise<Outcome> {
  const metadata = new Metadata()
  for (const [name, value] of Object.entries(given)) metadata.set(name, value)
  return new Promise((done) => {
    let headers: Metadata | undefined
    const running = client[method]!(message, metadata, (err, answer) => {
      if (err === null) return done({ status: 'OK', answer: read(answer), ...(headers && { headers }) })
      const [bytes] = err.metadata.get('grpc-status-details-bin')
      return done({ status: status[err.code], message: err.details, details: String(bytes ?? '') })
    })
    running.on('metadata', (got) => (headers = got))
  })
}

const required = 'https://example.org/ext/needed/v1'
const other = 'https://example.org/ext/other/v1'
const push = { url: 'http://127.0.0.1:9/' }

t.test('service parameters are metadata', async (t) => {
  const { call } = await serve(t, { extensions: [{ uri: required, required: true }, { uri: other }] })
  const sent = sayV1('x')
  for (const version of ['1.0', '1.0.1', ''])
    t.match(await call('listTasks', {}, { 'a2a-version': version }), { status: 'OK' }, version)
  t.match(await call('listTasks', {}, { 'A2A-Version': '1.0' }), { status: 'OK' })
  for (const version of ['9.0', 'one']) {
    const refused = await call('listTasks', {}, { 'a2a-version': version })
    const details = /VERSION_NOT_SUPPORTED[^]*supportedVersions[^]*0\.3, 1\.0/
    t.match(refused, { status: 'FAILED_PRECONDITION', details }, version)
  }
  t.match(await call('sendMessage', sent), {
    status: 'FAILED_PRECONDITION',
    details: /EXTENSION_SUPPORT_REQUIRED/
  })
  const { headers, answer } = await call('sendMessage', sent, { 'a2a-extensions': `${required},${other}` })
  t.match(answer, { task: { status: { state: 'TASK_STATE_COMPLETED' } } })
  t.same(headers?.get('a2a-extensions'), [`${required}, ${other}`])
})

t.test('errors have their status, and an ErrorInfo of the protocol', async (t) => {
  const { call } = await serve(t)
  const { answer } = await call('sendMessage', sayV1('x'))
  const { id } = answer.task as { id: string }
  const cases: [expected: string, reason: string, method: Unary, params: object][] = [
    ['NOT_FOUND', 'TASK_NOT_FOUND', 'getTask', { id: 'nothing' }],
    ['NOT_FOUND', 'TASK_NOT_FOUND', 'cancelTask', { id: 'nothing' }],
    ['NOT_FOUND', 'TASK_NOT_FOUND', 'sendMessage', sayV1('x', { taskId: 'nothing' })],
    ['FAILED_PRECONDITION', 'TASK_NOT_CANCELABLE', 'cancelTask', { id }],
    ['FAILED_PRECONDITION', 'UNSUPPORTED_OPERATION', 'sendMessage', sayV1('x', { taskId: id })],
    ['FAILED_PRECONDITION', 'UNSUPPORTED_OPERATION', 'getExtendedAgentCard', {}],
    [
      'FAILED_PRECONDITION',
      'PUSH_NOTIFICATION_NOT_SUPPORTED',
      'createTaskPushNotificationConfig',
      { taskId: id, ...push }
    ]
  ]
  for (const [expected, reason, method, params] of cases) {
    const { status: got, message, details } = await call(method, params)
    t.equal(got, expected, reason)
    t.match(message, /\w{3,} /)
    t.match(details, 'type.googleapis.com/google.rpc.ErrorInfo')
    t.match(details, reason)
    t.match(details, 'a2a-protocol.org')
  }
  for (const params of [{}, sayV1('x', { parts: [] }), sayV1('x', { messageId: '' })])
    t.match(await call('sendMessage', params), {
      status: 'INVALID_ARGUMENT',
      details: /google\.rpc\.BadRequest[^]*message/
    })
  t.match(await call('listTasks', { pageSize: 1_000 }), { status: 'INVALID_ARGUMENT', details: /pageSize/ })
})

t.test('each call needs credentials, as over the other bindings', async (t) => {
  const { call } = await serve(t, {
    authenticate: ({ token }) => (token === undefined ? null : { sub: token, scopes: [] }),
    extendedCard: (card) => card,
    pushNotifications: { allowPrivate: true }
  })
  for (const method of Object.keys(UNARY) as Unary[])
    t.match(await call(method, {}), { status: 'UNAUTHENTICATED', details: /A2A_ERR_NO_TOKEN/ }, method)
  const ann = { authorization: 'Bearer ann' }
  const { answer } = await call('sendMessage', sayV1('x'), ann)
  const { id } = answer.task as { id: string }
  t.match(await call('getTask', { id }, ann), { answer: { id } })
  const bob = { authorization: 'Bearer bob' }
  t.match(await call('getTask', { id }, bob), { status: 'NOT_FOUND' })
  t.same((await call('listTasks', {}, bob)).answer.tasks ?? [], [])
})

t.test('the card names the binding in each version', async (t) => {
  const { interfaces, address } = await serve(t)
  t.match(
    interfaces.filter(({ protocolBinding }) => protocolBinding === 'GRPC'),
    [
      { url: address, protocolVersion: '1.0' },
      { url: address, protocolVersion: '0.3' }
    ]
  )
})

t.test('calls are encrypted where the binding has a key', async (t) => {
  const pem = readFileSync(resolve(import.meta.dirname, '../fixtures/self-signed.pem'), 'utf8')
  const { connect, call } = await serve(t, {}, { credentials: { key: pem, cert: pem } })
  const secure = connect(A2AService, credentials.createSsl(Buffer.from(pem)))
  const request = officialCodec('ListTasksRequest')!.fromJSON({})
  t.match(await invoke(secure, 'listTasks', request, {}, (answer) => answer), { status: 'OK' })
  t.match(await call('listTasks', {}), { status: 'UNAVAILABLE' }, 'not without')
  const wary = connect(A2AService, credentials.createSsl())
  t.match(await invoke(wary, 'listTasks', request, {}, (answer) => answer), { status: 'UNAVAILABLE' })
})

t.test('0.3 has a service of its own, with its names and errors', async (t) => {
  const { connect } = await serve(t)
  t.same(
    Object.keys(A2AServiceV03).toSorted(),
    [
      'sendMessage',
      'sendStreamingMessage',
      'getTask',
      'cancelTask',
      'taskSubscription',
      'getAgentCard',
      ...['Create', 'Get', 'Delete'].map((verb) => `${verb.toLowerCase()}TaskPushNotificationConfig`),
      'listTaskPushNotificationConfig'
    ].toSorted()
  )
  const client = connect(A2AServiceV03)
  const message = {
    messageId: 'm',
    contextId: '',
    taskId: '',
    role: 1,
    content: [{ part: { $case: 'text', value: 'x' } }],
    metadata: undefined,
    extensions: []
  }
  const sent = await invoke(client, 'sendMessage', { request: message }, {}, (answer) => answer)
  t.match(sent, { status: 'OK', answer: { payload: { $case: 'task', value: { status: { state: 3 } } } } })
  const name = `tasks/${String(sent.answer.payload.value.id)}`
  t.match(await invoke(client, 'getTask', { name, historyLength: 0 }, {}, (answer) => answer), {
    status: 'OK'
  })
  t.match(
    await invoke(client, 'getTask', { name: 'tasks/nothing', historyLength: 0 }, {}, (answer) => answer),
    {
      status: 'NOT_FOUND',
      details: /TASK_NOT_FOUND/
    }
  )
  t.match(await invoke(client, 'cancelTask', { name }, {}, (answer) => answer), {
    status: 'FAILED_PRECONDITION'
  })
})
