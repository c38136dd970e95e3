import type { RunnableDefinition } from '@svc/registry'
import t from 'tap'
import { createWaiting } from '../helpers/agents.ts'
import { buildApp, echo, sayV1, type AppRequest } from '../helpers/build-app.ts'
import { ask, BINDINGS, open, type Refusal } from '../helpers/conformance-client.ts'
import type { OperationName } from '../../src/model/requests.ts'

const url = 'http://127.0.0.1:9/'
const required = [{ uri: 'https://example.org/ext/needed/v1', required: true }]

interface Case {
  rpc: number
  http: number
  status: string
  reason: string
  name: OperationName
  params: (taskId: string) => object
  headers?: Record<string, string>
  options?: AppRequest['options']
}

/** An error of each kind that a request of its own can have. */
const CASES: Case[] = [
  {
    rpc: -32001,
    http: 404,
    status: 'NOT_FOUND',
    reason: 'TASK_NOT_FOUND',
    name: 'get',
    params: () => ({ id: 'nothing' })
  },
  {
    rpc: -32002,
    http: 400,
    status: 'FAILED_PRECONDITION',
    reason: 'TASK_NOT_CANCELABLE',
    name: 'cancel',
    params: (id) => ({ id })
  },
  {
    rpc: -32003,
    http: 400,
    status: 'FAILED_PRECONDITION',
    reason: 'PUSH_NOTIFICATION_NOT_SUPPORTED',
    name: 'setPushConfig',
    params: (taskId) => ({ taskId, url })
  },
  {
    rpc: -32004,
    http: 400,
    status: 'FAILED_PRECONDITION',
    reason: 'UNSUPPORTED_OPERATION',
    name: 'subscribe',
    params: (id) => ({ id })
  },
  {
    rpc: -32008,
    http: 400,
    status: 'FAILED_PRECONDITION',
    reason: 'EXTENSION_SUPPORT_REQUIRED',
    name: 'send',
    params: () => sayV1('x'),
    options: { extensions: required }
  },
  {
    rpc: -32009,
    http: 400,
    reason: 'VERSION_NOT_SUPPORTED',
    status: 'FAILED_PRECONDITION',
    name: 'get',
    params: (id) => ({ id }),
    headers: { 'a2a-version': '7.0' }
  }
]

t.test('each error has its code, its status and its reason', async (t) => {
  for (const { rpc, http, status, reason, name, params, headers, options } of CASES)
    for (const binding of BINDINGS) {
      const app = await buildApp(t, { ...(options && { options: { ...options, versions: ['1.0'] } }) })
      const begun = await ask(app, 'rpc', 'send', sayV1('x'), { 'a2a-extensions': required[0]!.uri })
      const answer = await ask(app, binding, name, params(begun.result.task.id), headers)
      t.equal(answer.status, binding === 'rpc' ? 200 : http, reason)
      t.match(answer.error, {
        code: binding === 'rpc' ? rpc : http,
        message: /\w{3,} /,
        details: [{ '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason, domain: 'a2a-protocol.org' }]
      })
      if (binding === 'rest') t.equal(answer.error!.status, status)
    }
})

t.test('a body of another type than JSON is a content type that is not supported', async (t) => {
  const app = await buildApp(t, { options: { versions: ['1.0'] } })
  for (const [binding, path, status] of [
    ['rpc', '', 415],
    ['rest', '/message:send', 400]
  ] as const) {
    const response = await fetch(app.url + path, {
      method: 'POST',
      headers: { 'content-type': 'text/plain' },
      body: '{}'
    })
    t.equal(response.status, status)
    const { error } = (await response.json()) as { error: Record<string, unknown> }
    const info = { reason: 'CONTENT_TYPE_NOT_SUPPORTED', domain: 'a2a-protocol.org' }
    if (binding === 'rpc') t.match(error, { code: -32005, data: [info] })
    else t.match(error, { code: 400, status: 'INVALID_ARGUMENT', details: [info] })
  }
})

t.test(
  'push notifications that the card does not name are refused in each of their operations',
  async (t) => {
    const app = await buildApp(t)
    const taskId = (await ask(app, 'rpc', 'send', sayV1('x'))).result.task.id as string
    for (const binding of BINDINGS) {
      const refused = { reason: 'PUSH_NOTIFICATION_NOT_SUPPORTED' }
      for (const id of [taskId, 'nothing']) {
        t.match((await ask(app, binding, 'setPushConfig', { taskId: id, url })).error, refused)
        t.match((await ask(app, binding, 'getPushConfig', { taskId: id, id: 'p' })).error, refused)
        t.match((await ask(app, binding, 'listPushConfigs', { taskId: id })).error, refused)
        t.match((await ask(app, binding, 'deletePushConfig', { taskId: id, id: 'p' })).error, refused)
      }
      const configuration = { taskPushNotificationConfig: { url } }
      for (const name of ['send', 'stream'] as const)
        t.match((await ask(app, binding, name, { ...sayV1('x'), configuration })).error, refused)
    }
    t.match((await ask(app, 'rpc', 'list')).result, { totalSize: 1 }, 'nothing was begun')
  }
)

t.test('invalid parameters are named, with what is expected of them', async (t) => {
  const app = await buildApp(t)
  const cases: [name: OperationName, params: object, fields: string[]][] = [
    ['send', {}, ['message']],
    ['send', { message: {} }, ['message.messageId']],
    ['send', sayV1('x', { role: 'ROLE_AGENT' }), ['message.role']],
    ['send', sayV1('x', { parts: [] }), ['message.parts']],
    ['send', sayV1('x', { parts: [{}] }), ['message.parts.0']],
    ['stream', sayV1('x', { parts: [{ text: 'x' }, { text: 'x', data: {} }] }), ['message.parts.1']],
    [
      'send',
      { ...sayV1('x'), configuration: { returnImmediately: 'yes' } },
      ['configuration.returnImmediately']
    ],
    ['list', { pageSize: 1_000 }, ['pageSize']]
  ]
  for (const binding of BINDINGS)
    for (const [name, params, fields] of cases) {
      const { error, status } = await ask(app, binding, name, params)
      t.same(error?.fields, fields)
      t.match(error, {
        code: binding === 'rpc' ? -32602 : 400,
        message: new RegExp(fields[0]!.replaceAll('.', '\\.'))
      })
      t.equal(status, binding === 'rpc' ? 200 : 400)
      const violations = error!.details.flatMap(({ fieldViolations = [] }) => fieldViolations as object[])
      t.match(violations, [{ description: /^expected /i }], 'what is valid')
      everyDetailHasType(error!)
    }

  function everyDetailHasType({ details }: Refusal) {
    for (const each of details) t.match(each['@type'], /^type\.googleapis\.com\/google\.rpc\.\w+$/)
  }
})

t.test('an internal failure is one, without what happened inside', async (t) => {
  const stores = { get: () => Promise.reject(new Error('secret of the store')) }
  const broken: RunnableDefinition = { kind: 'agent', name: 'broken', run: () => 'x' }
  const app = await buildApp(t, { runnables: [broken, echo] })
  app.runs.stores.runs.listChanged = stores.get
  for (const binding of BINDINGS) {
    const answer = await ask(app, binding, 'list')
    t.notMatch(JSON.stringify(answer), /secret/)
    t.ok(
      answer.error!.code === (binding === 'rpc' ? -32603 : 500) || answer.status === 503,
      JSON.stringify(answer)
    )
  }
})

t.test('a refused stream is an answer of one object, not an event stream', async (t) => {
  const app = await buildApp(t)
  for (const binding of BINDINGS)
    for (const [name, params] of [
      ['stream', {}],
      ['subscribe', { id: 'nothing' }]
    ] as const) {
      const response = await open(app, binding, name, params, { accept: 'text/event-stream' })
      t.match(response.headers.get('content-type'), /^application\/(a2a\+)?json/, name)
      await response.body!.cancel()
    }
})

t.test('a version is refused before anything else of the request', async (t) => {
  const waiting = createWaiting()
  const app = await buildApp(t, { runnables: [waiting.runnable] })
  for (const binding of BINDINGS)
    t.match((await ask(app, binding, 'send', { message: 5 }, { 'a2a-version': '9.9' })).error, {
      reason: 'VERSION_NOT_SUPPORTED'
    })
})
