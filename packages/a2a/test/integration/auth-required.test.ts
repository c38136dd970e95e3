import { Type } from '@sinclair/typebox'
import { createScopeAuthorize } from '@svc/http'
import type { RunnableDefinition } from '@svc/registry'
import t, { type Test } from 'tap'
import { askByRpc } from '../helpers/ask.ts'
import { buildApp, say, sayV1, type RpcReply, type TestApp } from '../helpers/build-app.ts'
import { createReceiver } from '../helpers/receiver.ts'
import { connectSdkClients } from '../helpers/sdk-clients.ts'

const secret = 'tok-3f9a-secret'
const schema = Type.Object({ token: Type.String() })
let got: unknown[] = []
t.beforeEach(() => void (got = []))

const signer: RunnableDefinition = {
  kind: 'agent',
  name: 'signer',
  async run(_input, context) {
    const { action, credentials } = await context.requestCredentials({ message: 'Sign in, please', schema })
    got.push(credentials?.reveal())
    return action
  }
}

/** Needs credentials, and asks a question meanwhile, first or second. */
function both(name: string, first: 'auth' | 'question'): RunnableDefinition {
  return {
    kind: 'agent',
    name,
    async run(_input, context) {
      const sign = () => context.requestCredentials({ message: 'Sign in, please' })
      const ask = () => context.ask({ message: 'Why?' })
      const all = await Promise.all(first === 'auth' ? [sign(), ask()] : [ask(), sign()])
      return JSON.stringify(all)
    }
  }
}

const runnables = [signer, both('auth-first', 'auth'), both('question-first', 'question')]

async function begin(app: TestApp, agentName = 'signer', headers?: Record<string, string>) {
  const { result } = await app.rpc('message/send', say('x', { metadata: { agentName } }), headers)
  const taskId = String(result.id)
  return { task: result, taskId, inputId: `${taskId}.1` }
}

/** Everything that the stores of an app have of a task. */
async function storedOf({ runs }: TestApp, taskId: string): Promise<string> {
  const { stores } = runs
  const log = await stores.log.read(taskId, 0, { entries: 1_000, bytes: 1_000_000 })
  return JSON.stringify([await stores.runs.get(taskId), await stores.tasks.get(taskId), log])
}

function answer(inputId: string, fields: object = { action: 'accept', content: { token: secret } }) {
  return [{ data: { inputId, ...fields } }]
}

t.test('official clients of every version give a task credentials, which are kept nowhere', async (t) => {
  const app = await buildApp(t, { runnables })
  for (const client of await connectSdkClients(app.origin)) {
    got = []
    const { taskId, inputId, task } = await begin(app)
    t.match(task.status, {
      state: 'auth-required',
      timestamp: String,
      message: {
        role: 'agent',
        parts: [
          { kind: 'text', text: 'Sign in, please' },
          {
            kind: 'data',
            data: { inputId, kind: 'auth', message: 'Sign in, please', schema: { type: 'object' } }
          }
        ]
      }
    })
    for (const wrong of [{ action: 'accept' }, { action: 'accept', content: secret }, { action: 'maybe' }])
      await t.rejects(client.send(answer(inputId, wrong), { taskId }), client.name)
    const secrets = [[{ text: secret }], [...answer(inputId), { text: 'so' }], [{ data: { token: secret } }]]
    for (const parts of secrets) await client.send(parts, { taskId })
    t.match(await app.runs.find(taskId), { status: 'input-required' }, `${client.name}: none is an answer`)
    const sent = await client.send(answer(inputId), { taskId })
    t.equal(sent.id, taskId)
    t.match(await app.runs.find(taskId), { status: 'completed' }, client.name)
    t.same(got, [{ token: secret }])
    t.notMatch(await storedOf(app, taskId), secret)
    const { result } = await app.rpc('tasks/get', { id: taskId })
    t.match(result.history.at(-2), { role: 'user', parts: [{ data: { inputId, action: 'accept' } }] })
    t.notMatch(JSON.stringify([result, sent]), secret)
  }
})

t.test(
  'every version names the state: in answers, streams, lists, subscriptions and notifications',
  async (t) => {
    const app = await buildApp(t, { runnables, options: { pushNotifications: { allowPrivate: true } } })
    const { taskId, inputId } = await begin(app)
    const auth = 'TASK_STATE_AUTH_REQUIRED'
    const v1 = await app.rpc('SendMessage', sayV1('x', { metadata: { agentName: 'signer' } }))
    t.equal(v1.result.task.status.state, auth)
    t.equal((await app.rpc('GetTask', { id: taskId })).result.status.state, auth)
    t.equal((await app.rpc('tasks/get', { id: taskId })).result.status.state, 'auth-required')
    const rest = (await (await fetch(`${app.url}/tasks/${taskId}`)).json()) as RpcReply['result']
    t.equal(rest.status.state, auth)

    const legacy = await app.stream('message/stream', say('x', { metadata: { agentName: 'signer' } }))
    t.match(
      legacy.at(-1)!.result,
      { status: { state: 'auth-required' }, final: true },
      'the stream ends there'
    )
    const modern = await app.stream('SendStreamingMessage', sayV1('x', { metadata: { agentName: 'signer' } }))
    t.match(modern.at(-1)!.result, {
      statusUpdate: { status: { state: auth, message: { parts: [{}, {}] } } }
    })
    const [again] = await app.stream('SendStreamingMessage', sayV1('hm', { taskId }))
    t.equal(again!.result.task.status.state, auth)

    const states = async (status: string) => {
      const { tasks, totalSize } = (await app.rpc('ListTasks', { status })).result
      return [tasks.map(({ status: { state } }: { status: { state: string } }) => state), totalSize]
    }
    t.same(await states(auth), [[auth, auth, auth, auth], 4])
    t.same(await states('TASK_STATE_INPUT_REQUIRED'), [[], 0])

    const receivers = await Promise.all([createReceiver(t), createReceiver(t)])
    await app.rpc('tasks/pushNotificationConfig/set', {
      taskId,
      pushNotificationConfig: { url: receivers[0].url }
    })
    await app.rpc('CreateTaskPushNotificationConfig', { taskId, url: receivers[1].url })
    const events = await askByRpc(app, 'subscribe', '1.0', { id: taskId }, () =>
      app.runs.answer(inputId, { action: 'accept', content: { token: secret } })
    )
    const seen = events.map(({ result }) => (result.task ?? result.statusUpdate)?.status.state)
    t.same(seen.filter(Boolean), [auth, 'TASK_STATE_WORKING', 'TASK_STATE_COMPLETED'])
    for (const { all, until } of receivers)
      while (!/completed/i.test(JSON.stringify(all.at(-1)?.body ?? ''))) await until(all.length + 1)
    t.notMatch(JSON.stringify([events, receivers.map(({ all }) => all)]), secret)
  }
)

t.test(
  'while a task waits for credentials and for an answer, it is auth-required, and no text counts',
  async (t) => {
    const app = await buildApp(t, { runnables })
    for (const name of ['auth-first', 'question-first']) {
      const { taskId, task } = await begin(app, name)
      t.equal(task.status.state, 'auth-required', name)
      t.match(task.status.message.parts[1].data, { kind: 'auth' })
      const [seen] = await app.stream('message/stream', say(secret, { taskId }))
      t.equal(seen!.result.status.state, 'auth-required')
      t.notMatch(await storedOf(app, taskId), secret)
      const waiting = (await app.runs.find(taskId))!.waiting.inputs.first
      const idOf = (kind: string) => waiting.find((input) => input.kind === kind)!.inputId
      const tell = async (data: object) => {
        const message = {
          role: 'user',
          messageId: crypto.randomUUID(),
          taskId,
          parts: [{ kind: 'data', data }]
        }
        return (await app.rpc('message/send', { message })).result
      }
      const then = await tell({ inputId: idOf('auth'), action: 'accept', content: secret })
      t.equal(then.status.state, 'input-required')
      t.match(then.status.message.parts[1].data, { kind: 'question' })
      const { result } = await app.rpc('message/send', say('because', { taskId, messageId: 'e' }))
      t.match(result.artifacts[0].parts[0].text, /because/)
      t.notMatch(await storedOf(app, taskId), secret)
    }
  }
)

t.test('credentials are granted elsewhere, or refused', async (t) => {
  const open: RunnableDefinition = {
    ...signer,
    name: 'open',
    run: async (_input, context) => JSON.stringify(await context.requestCredentials({ message: 'Sign in' }))
  }
  const app = await buildApp(t, { runnables: [open] })
  for (const action of ['accept', 'decline', 'cancel']) {
    const { taskId, inputId } = await begin(app, 'open')
    const message = {
      role: 'user',
      messageId: action,
      taskId,
      parts: [{ kind: 'data', data: { inputId, action } }]
    }
    const { result } = await app.rpc('message/send', { message })
    t.equal(result.artifacts[0].parts[0].text, `{"action":"${action}"}`)
  }
})

/** An app whose callers name themselves. */
function guarded(t: Test) {
  return buildApp(t, {
    runnables,
    options: {
      authenticate: ({ headers }) => {
        const [sub = '', ...scopes] = String(headers['x-caller']).split(' ')
        return { sub, scopes }
      },
      authorize: createScopeAuthorize({})
    }
  })
}

t.test('only the owner of a task sees that it needs credentials, and gives them', async (t) => {
  const app = await guarded(t)
  const ann = { 'x-caller': 'ann agents:run' }
  const { taskId, inputId } = await begin(app, 'signer', ann)
  const send = async (caller: string) => {
    const { message } = sayV1('x', { taskId })
    const params = { message: { ...message, parts: answer(inputId) } }
    return (await app.rpc('SendMessage', params, { 'x-caller': caller })).error?.code
  }
  for (const caller of ['bob agents:run', 'eva agents:run inputs:answer approvals:answer'])
    t.equal(await send(caller), -32001, caller)
  t.same(got, [])
  t.equal(await send('ann agents:run'), undefined)
  t.same(got, [{ token: secret }])
})

t.test('an answer that is sent twice counts once, though its content is not kept', async (t) => {
  const app = await guarded(t)
  const ann = { 'x-caller': 'ann agents:run' }
  const { taskId, inputId } = await begin(app, 'signer', ann)
  const params = { message: { ...sayV1('x', { taskId, messageId: 'once' }).message, parts: answer(inputId) } }
  for (let time = 0; time < 2; time++) {
    const { result } = await app.rpc('SendMessage', params, ann)
    t.equal(result.task.status.state, 'TASK_STATE_COMPLETED')
  }
  const asked = await begin(app, 'signer', ann)
  const words = sayV1(secret, { taskId: asked.taskId, messageId: 'words' })
  for (let time = 0; time < 2; time++) await app.rpc('SendMessage', words, ann)
  t.equal((await app.runs.stores.tasks.get(asked.taskId))!.messages.length, 2)
  t.notMatch(await storedOf(app, asked.taskId), secret)
})

t.test('a text that names the context only is neither an answer nor kept', async (t) => {
  const app = await guarded(t)
  const ann = { 'x-caller': 'ann agents:run' }
  const { taskId, task } = await begin(app, 'signer', ann)
  const words = sayV1(secret, { contextId: task.contextId, messageId: 'words' })
  for (let time = 0; time < 2; time++) {
    const { result } = await app.rpc('SendMessage', words, ann)
    t.match(result.task, { id: taskId, status: { state: 'TASK_STATE_AUTH_REQUIRED' } })
  }
  t.equal((await app.runs.stores.tasks.get(taskId))!.messages.length, 2)
  t.notMatch(await storedOf(app, taskId), secret)
})
