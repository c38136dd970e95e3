import t, { type Test } from 'tap'
import type { OperationName } from '../../src/model/requests.ts'
import { OPERATION_NAMES, OPERATIONS } from '../../src/operations.ts'
import { asker, createWaiting, failing, giver, worker } from '../helpers/agents.ts'
import { askByRest, askByRpc } from '../helpers/ask.ts'
import { buildApp, echo, sayV1 } from '../helpers/build-app.ts'
import { createReceiver } from '../helpers/receiver.ts'
import { faultsOf } from '../helpers/published/faults-of.ts'
import { lostByProto, officialCodec } from '../helpers/published/official-codec.ts'
import { ANSWERS } from '../helpers/published/operation-types.ts'
import { SECURITY_SCHEMES } from '../helpers/security-schemes.ts'

t.setTimeout(120_000)

/** The faults of an answer, by the JSON schema and by the official SDK's code for the proto. */
function wrongWith(name: OperationName, answer: unknown): string[] {
  const type = ANSWERS[name]
  return [...faultsOf('1.0', type, answer), ...lostByProto(type, answer)]
}

async function serve(t: Test) {
  const waiting = createWaiting()
  const app = await buildApp(t, {
    runnables: [worker, asker, failing, echo, giver, waiting.runnable],
    options: {
      versions: ['1.0'],
      provider: { organization: 'We' },
      pushNotifications: { allowPrivate: true },
      authenticate: Object.assign(() => ({ sub: 'me', scopes: [] }), { schemes: SECURITY_SCHEMES }),
      extendedCard: (card) => ({ ...card, description: 'more' })
    }
  })
  return { app, waiting }
}

for (const binding of ['JSON-RPC', 'HTTP+JSON']) {
  t.test(`answers over ${binding} match the published schema of 1.0`, async (t) => {
    const { app, waiting } = await serve(t)
    const asked = new Set<OperationName>()
    /** The answers to an operation, each checked. */
    const ask = async (name: OperationName, params: object, opened?: () => unknown) => {
      const answers =
        binding === 'JSON-RPC'
          ? (await askByRpc(app, name, '1.0', params, opened)).map(({ result }) => result as unknown)
          : await askByRest(app, OPERATIONS[name].rest['1.0'][0]!, params, opened)
      asked.add(name)
      t.not(answers.length, 0)
      for (const answer of answers) t.same(wrongWith(name, answer), [], name)
      return answers as { task?: { id: string; status: { state: string } } }[]
    }
    const send = async (message: object, configuration?: object) => {
      const [answer] = await ask('send', { ...message, ...(configuration && { configuration }) })
      return answer!.task!
    }

    await t.test('tasks in every state, with every kind of part', async (t) => {
      const parts = [
        { text: 'echo', mediaType: 'text/plain', metadata: { a: [1, null] } },
        { raw: '-_8', filename: 'a.txt', mediaType: 'text/plain' },
        { url: 'https://example.org/a' },
        { data: { a: [1, { b: null }] } },
        { data: [1, 'two'] }
      ]
      const tasks = await Promise.all([
        send(sayV1('worker')),
        send(sayV1('asker', { extensions: ['https://example.org/x'], referenceTaskIds: ['another'] })),
        send(sayV1('failing')),
        send(sayV1('', { parts, metadata: { a: { b: [1] } } })),
        send(sayV1('giver'))
      ])
      const states = tasks.map(({ status }) => status.state.replace('TASK_STATE_', ''))
      t.same(states, ['COMPLETED', 'INPUT_REQUIRED', 'FAILED', 'COMPLETED', 'COMPLETED'])
      for (const { id } of tasks) await ask('get', { id, historyLength: 1 })
      await ask('list', { pageSize: 2 })
      await ask('list', { includeArtifacts: true })
    })

    await t.test('streams', async (t) => {
      for (const name of ['worker', 'asker', 'failing', 'giver']) await ask('stream', sayV1(name))
      const { id } = await send(sayV1('waiting'), { returnImmediately: true })
      await ask('get', { id })
      const events = await ask('subscribe', { id }, waiting.goOn)
      t.match(events.at(-1), { statusUpdate: { status: { state: 'TASK_STATE_COMPLETED' } } })
    })

    await t.test('push notifications and their configurations', async (t) => {
      const receiver = await createReceiver(t)
      const authentication = { scheme: 'Bearer', credentials: 'x' }
      const config = { id: 'p', url: receiver.url, token: 'y', authentication }
      const { id: taskId } = await send(sayV1('waiting'), { returnImmediately: true })
      await ask('setPushConfig', { taskId, ...config })
      await ask('getPushConfig', { taskId, id: 'p' })
      await ask('listPushConfigs', { taskId })
      waiting.goOn()
      for (const { body } of await receiver.until(2)) t.same(wrongWith('stream', body), [])
      await ask('deletePushConfig', { taskId, id: 'p' })
      await ask('listPushConfigs', { taskId })
      await send(sayV1('worker'), { taskPushNotificationConfig: { url: receiver.url } })
      for (const { body } of await receiver.until(7)) t.same(wrongWith('stream', body), [])
    })

    await t.test('canceled', async () => {
      const { id } = await send(sayV1('waiting'), { returnImmediately: true })
      await ask('cancel', { id })
    })

    await t.test('cards', async (t) => {
      const [extended] = await ask('extendedCard', {})
      const { implicit } = SECURITY_SCHEMES.several.flows
      const { securitySchemes } = extended as { securitySchemes?: Record<string, unknown> }
      t.same(
        securitySchemes?.['several'],
        { oauth2SecurityScheme: { flows: { implicit } } },
        'the first flow'
      )
      const card: unknown = await (await fetch(`${app.origin}/.well-known/agent-card.json`)).json()
      t.same(wrongWith('extendedCard', card), [])
    })

    t.same([...asked].sort(), [...OPERATION_NAMES].sort(), 'every row of the table')
  })
}

t.test('errors of 1.0', async (t) => {
  const { app } = await serve(t)
  const bare = await buildApp(t, { options: { versions: ['1.0'] } })
  const locked = await buildApp(t, { options: { versions: ['1.0'], authenticate: () => null } })
  const { id } = (await app.rpc('SendMessage', sayV1('echo'))).result.task
  const push = { taskId: id, url: 'http://127.0.0.1:9/' }
  const cases: [code: number, served: typeof app, name: OperationName, params: object][] = [
    [-32001, app, 'get', { id: 'nothing' }],
    [-32002, app, 'cancel', { id }],
    [-32003, bare, 'setPushConfig', push],
    [-32004, app, 'subscribe', { id }],
    [-32004, app, 'send', sayV1('x', { taskId: id })],
    [-32004, bare, 'extendedCard', {}],
    [-32602, app, 'send', {}],
    [-32602, app, 'send', sayV1('x', { parts: [{ raw: 'a' }] })],
    [-32602, app, 'list', { pageSize: 1000 }],
    [-32602, app, 'setPushConfig', { ...push, url: 'nonsense' }],
    [-32000, locked, 'list', {}]
  ]
  for (const [code, served, name, params] of cases) {
    const [rpc] = await askByRpc(served, name, '1.0', params)
    t.equal(rpc!.error?.code, code, `${name} ${code}`)
    t.same(faultsOf('1.0', 'RpcError', rpc), [])
    const [rest] = await askByRest(served, OPERATIONS[name].rest['1.0'][0]!, params)
    t.same(faultsOf('1.0', 'RestError', rest), [])
  }
  const post = async (body: string, headers = {}) => {
    const response = await fetch(app.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body
    })
    return response.json()
  }
  const call = '{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"x"}}'
  for (const answer of [
    await post('{'),
    await post('[]'),
    await post(call.replace('GetTask', 'Nothing')),
    await post(call, { 'a2a-version': '9.0' }),
    await post(call, { 'content-type': 'text/plain' }),
    await post(call.padEnd(1_100_000))
  ])
    t.same(faultsOf('1.0', 'RpcError', answer), [])
})

t.test('a card for all versions reads as a card of 1.0', async (t) => {
  const authenticate = Object.assign(() => null, { schemes: SECURITY_SCHEMES })
  const { origin } = await buildApp(t, { options: { authenticate } })
  const read = async (query: string) =>
    officialCodec('AgentCard')!.fromJSON(
      await (await fetch(`${origin}/.well-known/agent-card.json${query}`)).json()
    )
  t.same(await read(''), await read('?A2A-Version=1.0'))
})

t.test('the check finds faults', async (t) => {
  const { app } = await serve(t)
  const { task } = (await app.rpc('SendMessage', sayV1('echo'))).result
  const { status, id, artifacts } = task
  const wrong: [where: RegExp, task: object][] = [
    [/more/, { ...task, more: 1 }],
    [/state/, { ...task, status: { ...status, state: 'completed' } }],
    [/status/, { ...task, status: undefined }],
    [/id/, { ...task, id: [id] }],
    [/parts/, { ...task, artifacts: [{ ...artifacts[0], parts: [{ text: 'a', url: 'b' }] }] }],
    [/parts/, { ...task, artifacts: [{ ...artifacts[0], parts: [{}] }] }]
  ]
  t.same(wrongWith('get', task), [])
  for (const [where, each] of wrong) t.match(wrongWith('get', each).join(), where)
  for (const each of wrong.slice(0, 2)) t.not(lostByProto('Task', each[1]).length, 0, 'by the official code')
})
