import t, { type Test } from 'tap'
import { OPERATION_NAMES, OPERATIONS } from '../../src/operations.ts'
import { createQuestioner, createWaiting } from '../helpers/agents.ts'
import { buildApp, echo, eventsOf } from '../helpers/build-app.ts'

const message = (text: string, fields: object = {}) => ({
  message: { messageId: crypto.randomUUID(), role: 'ROLE_USER', content: [{ text }], ...fields }
})

async function serve(t: Test) {
  const waiting = createWaiting()
  const app = await buildApp(t, {
    runnables: [echo, waiting.runnable, createQuestioner(undefined)],
    options: { versions: ['0.3'] }
  })
  const ask = async (route: string, body?: object) => {
    const [method, path] = route.split(' ') as [string, string]
    const response = await fetch(`${app.url}/v1${path}`, {
      method,
      ...(body && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })
    })
    const text = await response.text()
    const type = response.headers.get('content-type')
    return {
      status: response.status,
      type,
      body: type?.startsWith('text/') ? text : (JSON.parse(text) as unknown)
    }
  }
  return { app, ask, waiting }
}

t.test('paths and verbs are those of the specification', async (t) => {
  t.same(
    OPERATION_NAMES.map((name) => OPERATIONS[name].rest['0.3'][0]?.replaceAll(/\{\w+\}/g, '{}')),
    [
      'POST /v1/message:send',
      'POST /v1/message:stream',
      'GET /v1/tasks/{}',
      'GET /v1/tasks',
      'POST /v1/tasks/{}:cancel',
      'POST /v1/tasks/{}:subscribe',
      'POST /v1/tasks/{}/pushNotificationConfigs',
      'GET /v1/tasks/{}/pushNotificationConfigs/{}',
      'GET /v1/tasks/{}/pushNotificationConfigs',
      'DELETE /v1/tasks/{}/pushNotificationConfigs/{}',
      'GET /v1/card'
    ]
  )
})

t.test('bodies are plain JSON, streams are events', async (t) => {
  const { ask } = await serve(t)
  const sent = await ask('POST /message:send', message('x'))
  t.match(sent, {
    status: 200,
    type: 'application/json; charset=utf-8',
    body: { task: { status: { state: 'TASK_STATE_COMPLETED' }, artifacts: [{ parts: [{ text: 'x' }] }] } }
  })
  const { id } = (sent.body as { task: { id: string } }).task
  t.match(await ask(`GET /tasks/${id}?historyLength=1`), {
    status: 200,
    body: { id, history: [{ role: 'ROLE_AGENT' }] }
  })
  t.match(await ask('GET /tasks'), { status: 200, body: { tasks: [{ id }] } })
  const streamed = await ask('POST /message:stream', message('x'))
  t.match(streamed.type, /^text\/event-stream/)
  const events = eventsOf(String(streamed.body)) as unknown as object[]
  t.match(events[0], { task: { contextId: /./ } })
  t.match(events.at(-1), { statusUpdate: { final: true, status: { state: 'TASK_STATE_COMPLETED' } } })
})

t.test('a task is canceled, continued and followed', async (t) => {
  const { app, ask, waiting } = await serve(t)
  const begin = async (agentName: string, blocking: boolean) => {
    const sent = { ...message('x', { metadata: { agentName } }), configuration: { blocking } }
    return ((await ask('POST /message:send', sent)).body as { task: { id: string } }).task
  }
  const { id } = await begin('waiting', false)
  await waiting.reached()
  const path = `${app.url}/v1/tasks/${id}:subscribe`
  const following = [await fetch(path, { method: 'POST' }), await fetch(path)]
  waiting.goOn()
  for (const response of following) t.match(await response.text(), /TASK_STATE_COMPLETED/)
  const { id: other } = await begin('waiting', false)
  t.match(await ask(`POST /tasks/${other}:cancel`), {
    status: 200,
    body: { status: { state: 'TASK_STATE_CANCELLED' } }
  })
  const { id: asked } = await begin('questioner', true)
  t.match(await ask('POST /message:send', message('large', { taskId: asked })), {
    body: { task: { id: asked, status: { state: 'TASK_STATE_COMPLETED' } } }
  })
})

t.test('each error has its HTTP status, and one form', async (t) => {
  const { ask } = await serve(t)
  const { id } = ((await ask('POST /message:send', message('x'))).body as { task: { id: string } }).task
  const cases: [status: number, code: number, route: string, body?: object][] = [
    [404, -32001, 'GET /tasks/nothing'],
    [404, -32001, 'POST /tasks/nothing:cancel'],
    [404, -32001, 'POST /tasks/nothing:subscribe'],
    [404, -32001, 'POST /message:send', message('x', { taskId: 'nothing' })],
    [400, -32002, `POST /tasks/${id}:cancel`],
    [400, -32003, `GET /tasks/${id}/pushNotificationConfigs`],
    [400, -32003, `DELETE /tasks/${id}/pushNotificationConfigs/p`],
    [400, -32004, 'POST /message:send', message('x', { taskId: id })],
    [400, -32007, 'GET /card'],
    [400, -32602, 'POST /message:send', {}],
    [400, -32602, 'POST /message:send', message('x', { content: [] })],
    [400, -32602, 'GET /tasks?pageSize=0']
  ]
  for (const [status, code, route, body] of cases)
    t.match(
      await ask(route, body),
      { status, type: /^application\/json/, body: { code, message: /\w/, data: { code: /^A2A_ERR_/ } } },
      `${route} ${code}`
    )
})
