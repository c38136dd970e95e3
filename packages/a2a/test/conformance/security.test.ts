import { createJwtAuthenticate, createScopeAuthorize } from '@svc/http'
import t, { type Test } from 'tap'
import type { OperationName } from '../../src/model/requests.ts'
import { OPERATION_NAMES, OPERATIONS } from '../../src/operations.ts'
import { createWaiting } from '../helpers/agents.ts'
import { buildApp, echo, sayV1, type AppRequest } from '../helpers/build-app.ts'
import { ask, BINDINGS } from '../helpers/conformance-client.ts'
import { signToken, SECRET } from '../helpers/sign-token.ts'

const bearer = (sub: string, ...scopes: string[]) => ({
  authorization: `Bearer ${signToken({ sub, scopes })}`
})
const url = 'http://127.0.0.1:9/'

const paramsOf = (taskId: string): Record<OperationName, object> => ({
  send: sayV1('x'),
  stream: sayV1('x'),
  get: { id: taskId },
  list: {},
  cancel: { id: taskId },
  subscribe: { id: taskId },
  setPushConfig: { taskId, url },
  getPushConfig: { taskId, id: 'p' },
  listPushConfigs: { taskId },
  deletePushConfig: { taskId, id: 'p' },
  extendedCard: {}
})

async function serve(t: Test, fastify?: AppRequest['fastify']) {
  const waiting = createWaiting()
  const app = await buildApp(t, {
    runnables: [echo, waiting.runnable],
    ...(fastify && { fastify }),
    options: {
      authenticate: await createJwtAuthenticate({ secret: SECRET }),
      authorize: createScopeAuthorize({}),
      pushNotifications: { allowPrivate: true },
      extendedCard: (card, { scopes }) => ({ ...card, description: scopes.join() })
    }
  })
  return { app, waiting }
}

t.test('every operation needs credentials, on both bindings and in both versions', async (t) => {
  const { app } = await serve(t)
  const configuration = { returnImmediately: true }
  const sent = { ...sayV1('x', { metadata: { agentName: 'waiting' } }), configuration }
  const { task } = (await ask(app, 'rpc', 'send', sent, bearer('ann', 'agents:run'))).result
  const params = paramsOf(task.id as string)
  const invalid = [
    {},
    { authorization: 'Bearer nonsense' },
    { authorization: `Bearer ${signToken({ sub: 'ann' }, -1)}` },
    { authorization: 'Basic YW5uOnB3' },
    { 'x-api-key': 'x' }
  ] as Record<string, string>[]
  for (const headers of invalid)
    for (const name of OPERATION_NAMES) {
      for (const binding of BINDINGS) {
        const answer = await ask(app, binding, name, params[name], headers)
        t.equal(answer.status, 401, `${binding} ${name}`)
        t.match(answer.headers.get('www-authenticate'), /^Bearer/)
        t.match(answer.error, { code: binding === 'rpc' ? -32000 : 401, reason: /^A2A_ERR_(NO|BAD)_TOKEN$/ })
      }
      const [method, path] = OPERATIONS[name].rest['0.3'][0]!.split(' ') as [string, string]
      const legacy = await fetch(app.url + path.replaceAll(/\{\w+\}/g, 'x'), { method, headers })
      t.equal(legacy.status, 401, path)
      t.match(legacy.headers.get('www-authenticate'), /^Bearer/)
    }
  t.match((await ask(app, 'rpc', 'list', {}, bearer('ann'))).result, { totalSize: 1 }, 'nothing was begun')
})

t.test('a scope that is missing is named, and no task is', async (t) => {
  const { app } = await serve(t)
  for (const binding of BINDINGS) {
    const { error, status, headers } = await ask(app, binding, 'send', sayV1('x'), bearer('bob'))
    t.equal(status, 403)
    t.match(error, { message: /agents:run/, reason: 'A2A_ERR_FORBIDDEN' })
    t.match(headers.get('www-authenticate'), /insufficient_scope", scope="agents:run"/)
  }
})

t.test('a task of another caller is the same as none, whatever is asked', async (t) => {
  const { app } = await serve(t)
  const configuration = { returnImmediately: true }
  const sent = { ...sayV1('x', { metadata: { agentName: 'waiting' } }), configuration }
  const { task } = (await ask(app, 'rpc', 'send', sent, bearer('ann', 'agents:run'))).result
  const bob = bearer('bob', 'agents:run')
  const [own, none] = [paramsOf(task.id as string), paramsOf('nothing')]
  for (const binding of BINDINGS)
    for (const name of OPERATION_NAMES) {
      if (['send', 'stream', 'list', 'extendedCard'].includes(name)) continue
      const { error } = await ask(app, binding, name, own[name], bob)
      t.match(error, { reason: 'TASK_NOT_FOUND' }, name)
      t.same(error, (await ask(app, binding, name, none[name], bob)).error, name)
    }
  for (const params of [{}, { contextId: task.contextId as string }, { status: 'TASK_STATE_WORKING' }])
    for (const binding of BINDINGS)
      t.match((await ask(app, binding, 'list', params, bob)).result, { tasks: [], totalSize: 0 })
})

t.test('the extended card is for callers who are known, and for each of them alone', async (t) => {
  const { app } = await serve(t)
  for (const binding of BINDINGS) {
    t.equal((await ask(app, binding, 'extendedCard')).status, 401)
    const { result } = await ask(app, binding, 'extendedCard', {}, bearer('ann', 'more'))
    t.match(result, { description: 'more', capabilities: { extendedAgentCard: true } })
  }
})

t.test('an extended card may be kept by its caller, who asks whether it has changed', async (t) => {
  const { app } = await serve(t)
  for (const path of ['/extendedAgentCard', '/v1/card']) {
    const get = (headers: Record<string, string>) => fetch(app.url + path, { headers })
    const ann = bearer('ann', 'more')
    const first = await get(ann)
    t.match(first.headers.get('cache-control'), /^private, no-cache$/, path)
    t.match(first.headers.get('vary'), /Authorization/)
    const tag = { 'if-none-match': first.headers.get('etag')! }
    const again = await get({ ...ann, ...tag })
    t.same([again.status, await again.text()], [304, ''])
    t.equal((await get({ ...bearer('ann', 'less'), ...tag })).status, 200, 'it has changed')
    t.equal((await get(tag)).status, 401)
    t.match(await first.json(), { description: 'more' })
  }
})

t.test('the log has what was refused, without credentials', async (t) => {
  const lines: string[] = []
  const stream = { write: (line: string) => void lines.push(line) }
  const { app } = await serve(t, { logger: { level: 'info', stream } })
  const token = bearer('bob')
  await ask(app, 'rest', 'list', {}, { authorization: 'Bearer very-secret' })
  await ask(app, 'rest', 'send', sayV1('x'), token)
  const config = {
    taskId: 'nothing',
    url,
    token: 'push-secret',
    authentication: { scheme: 'Basic', credentials: 'basic-secret' }
  }
  await ask(app, 'rest', 'setPushConfig', config, bearer('ann'))
  const log = lines.join('')
  t.match(log, /A2A_ERR_BAD_TOKEN/)
  t.match(log, /A2A_ERR_FORBIDDEN/)
  t.notMatch(log, /very-secret|push-secret|basic-secret/)
  t.notOk(log.includes(token.authorization.slice(7)))
})

t.test('requests are bounded in size, depth and number of parts', async (t) => {
  const app = await buildApp(t, { options: { limits: { bodyLimit: 10_000, jsonDepth: 16 } } })
  const deep = (levels: number): object => (levels === 0 ? {} : { a: deep(levels - 1) })
  for (const binding of BINDINGS) {
    t.equal((await ask(app, binding, 'send', sayV1('x'.repeat(10_000)))).status, 413)
    const { error } = await ask(app, binding, 'send', sayV1('x', { metadata: deep(20) }))
    t.match(error?.code, binding === 'rpc' ? -32700 : 400)
  }
  const parts = Array.from({ length: 1_001 }, () => ({ text: '' }))
  const wide = await buildApp(t)
  t.match((await ask(wide, 'rest', 'send', sayV1('', { parts }))).error, { fields: ['message.parts'] })
})

t.test('more tasks than one caller may have at once are refused for now', async (t) => {
  const waiting = createWaiting()
  const app = await buildApp(t, {
    runnables: [waiting.runnable],
    engine: { limits: { maxRunsPerOwner: 1 } },
    options: { authenticate: () => ({ sub: 'ann', scopes: [] }) }
  })
  const sent = { ...sayV1('x'), configuration: { returnImmediately: true } }
  t.ok((await ask(app, 'rpc', 'send', sent)).result)
  for (const binding of BINDINGS) {
    const { status, headers, error } = await ask(app, binding, 'send', sayV1('y'))
    t.equal(status, 429)
    t.match(headers.get('retry-after'), /^\d+$/)
    t.match(error, { reason: 'RUN_ERR_TOO_MANY_RUNS', code: binding === 'rpc' ? -32000 : 429 })
  }
})
