import { createJwtAuthenticate, createScopeAuthorize } from '@svc/http'
import { expose } from '@svc/registry'
import t from 'tap'
import { asker, createWaiting } from '../helpers/agents.ts'
import { buildApp, echo, say, sayV1, type TestApp } from '../helpers/build-app.ts'
import { signToken, SECRET } from '../helpers/sign-token.ts'

const bearer = (sub: string, ...scopes: string[]) => ({
  authorization: `Bearer ${signToken({ sub, scopes })}`
})
const ann = bearer('ann', 'agents:run')
const bob = bearer('bob', 'agents:run')
const admin = bearer('root', 'admin:*')

async function build(t: Parameters<typeof buildApp>[0]) {
  const waiting = createWaiting()
  const rbac = { agentScopes: { echo: ['echo:use'] } }
  const app = await buildApp(t, {
    runnables: [waiting.runnable, asker, echo],
    options: {
      authenticate: await createJwtAuthenticate({ secret: SECRET }),
      authorize: createScopeAuthorize(rbac),
      pushNotifications: { allowPrivate: true },
      extendedCard: (card, { sub }) => ({ ...card, description: `for ${sub}` })
    }
  })
  return { app, waiting }
}

const begin = async (app: TestApp, headers: Record<string, string>, text = 'waiting') => {
  const configuration = { returnImmediately: true }
  const { result } = await app.rpc('SendMessage', { ...sayV1(text), configuration }, headers)
  return result.task as { id: string; contextId: string }
}

t.test('a task of another owner does not exist, in every operation', async (t) => {
  const { app } = await build(t)
  const { id } = await begin(app, ann)
  const push = { url: 'http://127.0.0.1:9/' }
  const asked: [method: string, params: (id: string) => object][] = [
    ['tasks/get', (id) => ({ id })],
    ['GetTask', (id) => ({ id })],
    ['tasks/cancel', (id) => ({ id })],
    ['CancelTask', (id) => ({ id })],
    ['tasks/resubscribe', (id) => ({ id })],
    ['SubscribeToTask', (id) => ({ id })],
    ['message/send', (taskId) => say('approve', { taskId })],
    ['SendStreamingMessage', (taskId) => sayV1('approve', { taskId })],
    ['tasks/pushNotificationConfig/set', (taskId) => ({ taskId, pushNotificationConfig: push })],
    ['CreateTaskPushNotificationConfig', (taskId) => ({ taskId, ...push })],
    ['GetTaskPushNotificationConfig', (taskId) => ({ taskId, id: 'x' })],
    ['ListTaskPushNotificationConfigs', (taskId) => ({ taskId })],
    ['DeleteTaskPushNotificationConfig', (taskId) => ({ taskId, id: 'x' })]
  ]
  for (const [method, params] of asked) {
    const { error: absent } = await app.rpc(method, params('nothing'), bob)
    t.equal(absent?.code, -32001, method)
    t.same((await app.rpc(method, params(id), bob)).error, absent, method)
  }
  t.match(await app.rpc('ListTasks', {}, bob), { result: { tasks: [], totalSize: 0 } })
  t.match(await app.rpc('ListTasks', {}, ann), { result: { tasks: [{ id }], totalSize: 1 } })
  t.match(await app.rpc('GetTask', { id }, admin), { result: { id } }, 'administrators reach all')
  t.match(await app.rpc('CancelTask', { id }, ann), { result: { status: { state: 'TASK_STATE_CANCELED' } } })
})

t.test('contexts and message ids are scoped by owner', async (t) => {
  const { app } = await build(t)
  const first = await begin(app, ann)
  const message = sayV1('asker', { messageId: 'm1', contextId: first.contextId })
  const { result: annsTask } = await app.rpc('SendMessage', message, ann)
  const { result: bobsTask } = await app.rpc('SendMessage', message, bob)
  t.not(annsTask.task.id, bobsTask.task.id)
  t.same((await app.rpc('SendMessage', message, ann)).result, annsTask)
})

t.test('permission to answer every approval', async (t) => {
  const { app } = await build(t)
  const { result: waits } = await app.rpc('message/send', say('asker'), ann)
  const answer = say('approve', { taskId: waits.id })
  t.match(await app.rpc('message/send', answer, bob), { error: { code: -32001 } })
  const boss = bearer('boss', 'agents:run', 'approvals:answer')
  t.match(await app.rpc('tasks/get', { id: waits.id }, boss), { error: { code: -32001 } })
  const { result: bare } = await app.rpc('message/send', answer, boss)
  t.same([bare.id, bare.history, bare.artifacts], [waits.id, undefined, undefined], 'its state alone')
  t.match(await app.rpc('message/send', answer, boss), { error: { code: -32001 } })
})

t.test('missing credentials and scopes are reported as over HTTP', async (t) => {
  const { app } = await build(t)
  const payload = { jsonrpc: '2.0', id: 1, method: 'message/send', params: say('echo') }
  const post = (headers: object, url = '/a2a', body: object = payload) =>
    app.app.inject({
      method: 'POST',
      url,
      headers: { 'content-type': 'application/json', ...headers },
      payload: body
    })
  const cases: [headers: object, status: number, challenge: RegExp, code: string][] = [
    [{}, 401, /^Bearer$/, 'A2A_ERR_NO_TOKEN'],
    [{ authorization: 'Bearer nonsense' }, 401, /invalid_token/, 'A2A_ERR_BAD_TOKEN'],
    [{ authorization: 'Bearer' }, 401, /invalid_token/, 'A2A_ERR_BAD_TOKEN'],
    [{ cookie: `token=${ann.authorization.slice(7)}` }, 401, /^Bearer$/, 'A2A_ERR_NO_TOKEN'],
    [bearer('ann'), 403, /insufficient_scope", scope="agents:run"$/, 'A2A_ERR_FORBIDDEN'],
    [ann, 403, /insufficient_scope", scope="echo:use"$/, 'A2A_ERR_FORBIDDEN']
  ]
  for (const [headers, status, challenge, code] of cases) {
    const reply = await post(headers)
    t.equal(reply.statusCode, status, code)
    t.match(reply.headers['www-authenticate'], challenge)
    t.match(reply.json(), { jsonrpc: '2.0', error: { code: -32000, data: { code } } })
    const rest = await post(headers, '/a2a/message:send', sayV1('echo'))
    t.equal(rest.statusCode, status, `${code} over HTTP+JSON`)
    t.match(rest.json(), { error: { code: status, details: [{ reason: code }] } })
  }
  const allowed = await post(bearer('ann', 'agents:run', 'echo:use'))
  t.match(allowed.json(), { result: { status: { state: 'completed' } } })
  t.match((await post(ann)).json(), { error: { message: /echo:use/ } })
})

t.test('the card is public and lists security schemes; the extended card is guarded', async (t) => {
  const { app } = await build(t)
  const card = (await app.app.inject('/.well-known/agent-card.json')).json<object>()
  t.match(card, {
    securitySchemes: { bearerAuth: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' } },
    security: [{ bearerAuth: [] }],
    supportsAuthenticatedExtendedCard: true
  })
  const pure = await app.app.inject({
    url: '/.well-known/agent-card.json',
    headers: { 'a2a-version': '1.0' }
  })
  t.match(pure.json(), {
    securitySchemes: { bearerAuth: { httpAuthSecurityScheme: { scheme: 'bearer', bearerFormat: 'JWT' } } },
    securityRequirements: [{ schemes: { bearerAuth: { list: [] } } }],
    capabilities: { extendedAgentCard: true }
  })
  t.equal((await app.app.inject('/a2a/extendedAgentCard')).statusCode, 401)
  const extended = await app.app.inject({ url: '/a2a/extendedAgentCard', headers: ann })
  t.match(extended.json(), { description: 'for ann' })
})

t.test('unavailable keys are not reported as a bad token', async (t) => {
  const app = await buildApp(t, {
    options: {
      authenticate() {
        throw expose({ code: 'HTTP_ERR_KEYS_UNAVAILABLE', message: 'down', statusCode: 503 })
      }
    }
  })
  const payload = { jsonrpc: '2.0', id: 1, method: 'tasks/get', params: { id: 'x' } }
  const reply = await app.app.inject({ method: 'POST', url: '/a2a', payload })
  t.equal(reply.statusCode, 503)
})
