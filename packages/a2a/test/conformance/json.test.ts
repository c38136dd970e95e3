import { Type } from '@sinclair/typebox'
import t, { type Test } from 'tap'
import type { OperationName } from '../../src/model/requests.ts'
import { asker, createQuestioner, createWaiting, failing, worker } from '../helpers/agents.ts'
import { anyone, buildApp, echo, sayV1 } from '../helpers/build-app.ts'
import { ask, BINDINGS, type BindingName } from '../helpers/conformance-client.ts'

const url = 'http://127.0.0.1:9/'

async function serve(t: Test) {
  const waiting = createWaiting()
  const app = await buildApp(t, {
    runnables: [echo, worker, asker, failing, waiting.runnable, createQuestioner(Type.String())],
    options: {
      authenticate: anyone,
      extendedCard: (card) => card,
      pushNotifications: { allowPrivate: true }
    }
  })
  const send = async (binding: BindingName, agentName: string, configuration: object = {}) =>
    (await ask(app, binding, 'send', { ...sayV1('x', { metadata: { agentName } }), configuration })).result
      .task
  return { app, send }
}

/** An answer of each operation, with tasks in every state. */
async function answersOf(t: Test, binding: BindingName) {
  const { app, send } = await serve(t)
  const tasks = []
  for (const name of ['echo', 'worker', 'asker', 'failing', 'questioner'])
    tasks.push(await send(binding, name))
  const { id } = await send(binding, 'waiting', { returnImmediately: true })
  const config = {
    taskId: id,
    id: 'p',
    url,
    token: 't',
    authentication: { scheme: 'Basic', credentials: 'c' }
  }
  const all: unknown[] = [...tasks]
  const add = async (name: OperationName, params: object) => {
    const { result, events, error } = await ask(app, binding, name, params)
    t.equal(error, undefined, name)
    all.push(result ?? events)
  }
  await add('setPushConfig', config)
  await add('getPushConfig', { taskId: id, id: 'p' })
  await add('listPushConfigs', { taskId: id })
  await add('deletePushConfig', { taskId: id, id: 'p' })
  await add('cancel', { id })
  await add('get', { id })
  await add('list', { includeArtifacts: true })
  await add('stream', sayV1('x', { metadata: { agentName: 'worker' } }))
  await add('stream', sayV1('x', { metadata: { agentName: 'asker' } }))
  await add('extendedCard', {})
  return all
}

/** Visits each field but those of the caller's own data. */
function visit(value: unknown, each: (key: string, value: unknown) => void): void {
  if (typeof value !== 'object' || value === null) return
  for (const [key, field] of Object.entries(value)) {
    each(key, field)
    if (key !== 'metadata' && key !== 'data') visit(field, each)
  }
}

const ENUMS: Record<string, RegExp> = {
  state: /^TASK_STATE_(SUBMITTED|WORKING|INPUT_REQUIRED|COMPLETED|FAILED|CANCELED)$/,
  role: /^ROLE_(USER|AGENT)$/
}

t.test('names of fields are in camelCase, enums are the names of the proto', async (t) => {
  for (const binding of BINDINGS) {
    const states = new Set<unknown>()
    visit(await answersOf(t, binding), (key, value) => {
      if (!/^\d+$/.test(key)) t.match(key, /^[a-z][A-Za-z0-9]*$/)
      if (key in ENUMS) t.match(value, ENUMS[key]!, key)
      if (key === 'state') states.add(value)
      t.not(value, null, `${key} is left out if it is unset`)
    })
    t.equal(states.size, 6, 'every state')
  }
})

t.test('times are of UTC, in milliseconds, and the same wherever they are read', async (t) => {
  for (const binding of BINDINGS) {
    let count = 0
    visit(await answersOf(t, binding), (key, value) => {
      if (key !== 'timestamp') return
      count++
      t.match(value, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
    })
    t.ok(count > 10)
    const { app } = await serve(t)
    const { events } = await ask(app, binding, 'stream', sayV1('x'))
    const { taskId, status } = events!.at(-1).statusUpdate
    t.same(
      (await ask(app, binding, 'get', { id: taskId })).result.status,
      status,
      'a task has that of its stream'
    )
  }
})

t.test('a request without a field that is required is refused, and the field is named', async (t) => {
  const { app, send } = await serve(t)
  const { id: taskId } = await send('rpc', 'waiting', { returnImmediately: true })
  const without = (key: string) => {
    const { message } = sayV1('x') as { message: Record<string, unknown> }
    delete message[key]
    return { message }
  }
  const cases: [name: OperationName, params: object, field: string][] = [
    ['send', {}, 'message'],
    ...['messageId', 'role', 'parts'].flatMap((key): [OperationName, object, string][] => [
      ['send', without(key), `message.${key}`],
      ['stream', without(key), `message.${key}`]
    ]),
    ['setPushConfig', { taskId }, 'url'],
    ['setPushConfig', { taskId, url, authentication: { credentials: 'c' } }, 'authentication.scheme'],
    [
      'send',
      { ...sayV1('x'), configuration: { taskPushNotificationConfig: {} } },
      'configuration.taskPushNotificationConfig.url'
    ]
  ]
  for (const binding of BINDINGS)
    for (const [name, params, field] of cases)
      t.match((await ask(app, binding, name, params)).error?.fields, [field], `${binding} ${name} ${field}`)
  // HTTP+JSON has these in the path.
  const ids: [name: OperationName, params: object, field: string][] = [
    ['get', {}, 'id'],
    ['cancel', {}, 'id'],
    ['subscribe', {}, 'id'],
    ['setPushConfig', { url }, 'taskId'],
    ['getPushConfig', { id: 'p' }, 'taskId'],
    ['getPushConfig', { taskId }, 'id'],
    ['listPushConfigs', {}, 'taskId'],
    ['deletePushConfig', { id: 'p' }, 'taskId'],
    ['deletePushConfig', { taskId }, 'id']
  ]
  for (const [name, params, field] of ids)
    for (const unset of [{}, { [field]: '' }, { [field]: null }])
      t.match(
        (await ask(app, 'rpc', name, { ...params, ...unset })).error?.fields,
        [field],
        `${name} ${field}`
      )
})

t.test('fields that are not known are ignored, wherever they are', async (t) => {
  const { app } = await serve(t)
  const more = { unknownField: { a: [1] }, other_field: 'x' }
  const { message } = sayV1('', { parts: [{ text: 'x', ...more }], ...more }) as { message: object }
  const configuration = {
    historyLength: 1,
    ...more,
    taskPushNotificationConfig: { url, ...more, authentication: { scheme: 'Bearer', ...more } }
  }
  for (const binding of BINDINGS) {
    const { result } = await ask(app, binding, 'send', { message, configuration, ...more })
    t.match(result.task, { status: { state: 'TASK_STATE_COMPLETED' }, history: { length: 1 } })
    const { id } = result.task
    t.match((await ask(app, binding, 'get', { id, unknownField: 'x' })).result, { id })
    t.match((await ask(app, binding, 'list', { unknownField: 'x' })).result, { totalSize: /\d/ })
    t.match((await ask(app, binding, 'extendedCard', { unknownField: 'x' })).result, { name: /./ })
    const { result: config } = await ask(app, binding, 'setPushConfig', { taskId: id, url, ...more })
    t.match(config, { taskId: id, url })
    t.notMatch(JSON.stringify(config), /unknownField/)
  }
})

t.test('a value of another type than its field has is refused', async (t) => {
  const { app } = await serve(t)
  const cases: [params: object, field: string][] = [
    [sayV1('x', { messageId: 5 }), 'message.messageId'],
    [sayV1('x', { parts: 'x' }), 'message.parts'],
    [sayV1('x', { parts: ['x'] }), 'message.parts.0'],
    [sayV1('x', { parts: [{ text: 5 }] }), 'message.parts.0.text'],
    [sayV1('x', { parts: [{ raw: '###' }] }), 'message.parts.0.raw'],
    [sayV1('x', { parts: [{ text: 'x', mediaType: 5 }] }), 'message.parts.0.mediaType'],
    [sayV1('x', { parts: [{ text: 'x', metadata: [] }] }), 'message.parts.0.metadata'],
    [sayV1('x', { metadata: 'x' }), 'message.metadata'],
    [sayV1('x', { extensions: 'x' }), 'message.extensions'],
    [sayV1('x', { referenceTaskIds: [5] }), 'message.referenceTaskIds.0'],
    [{ ...sayV1('x'), metadata: [] }, 'metadata'],
    [{ ...sayV1('x'), configuration: { acceptedOutputModes: 'x' } }, 'configuration.acceptedOutputModes']
  ]
  for (const binding of BINDINGS)
    for (const [params, field] of cases)
      t.match((await ask(app, binding, 'send', params)).error?.fields, [field], `${binding} ${field}`)
})

t.test('artifacts of a task have ids of their own, and a part at least', async (t) => {
  for (const binding of BINDINGS) {
    const { app, send } = await serve(t)
    const { id } = await send(binding, 'worker')
    const { result } = await ask(app, binding, 'get', { id })
    const artifacts = result.artifacts as { artifactId: string; parts: object[] }[]
    t.equal(artifacts.length, 3)
    t.equal(new Set(artifacts.map(({ artifactId }) => artifactId)).size, 3)
    for (const { parts } of artifacts) t.ok(parts.length > 0)
    const metadata = { agentName: 'worker' }
    const { events } = await ask(app, binding, 'stream', sayV1('x', { metadata }))
    for (const { artifactUpdate } of events!)
      if (artifactUpdate) t.ok(artifactUpdate.artifact.parts.length > 0)
  }
})
