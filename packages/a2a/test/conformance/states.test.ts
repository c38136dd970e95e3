import type { RunnableDefinition } from '@svc/registry'
import t, { type Test } from 'tap'
import { createQuestioner, createWaiting, failing } from '../helpers/agents.ts'
import { buildApp, echo, sayV1, type TestApp } from '../helpers/build-app.ts'
import { ask, BINDINGS } from '../helpers/conformance-client.ts'

const begin = async (app: TestApp, agentName: string, configuration: object = {}) => {
  const sent = { ...sayV1('x', { metadata: { agentName } }), configuration }
  return (await ask(app, 'rpc', 'send', sent)).result.task as { id: string; contextId: string }
}

/** A service with a task in each terminal state. */
async function serve(t: Test) {
  const waiting = createWaiting()
  const app = await buildApp(t, { runnables: [echo, failing, waiting.runnable] })
  const canceled = await begin(app, 'waiting', { returnImmediately: true })
  await ask(app, 'rpc', 'cancel', { id: canceled.id })
  const tasks = {
    COMPLETED: await begin(app, 'echo'),
    FAILED: await begin(app, 'failing'),
    CANCELED: canceled
  }
  for (const [state, { id }] of Object.entries(tasks))
    t.match((await ask(app, 'rpc', 'get', { id })).result, { status: { state: `TASK_STATE_${state}` } })
  return { app, tasks }
}

t.test('a task that has ended takes no message, subscription or cancel', async (t) => {
  const { app, tasks } = await serve(t)
  for (const [state, { id, contextId }] of Object.entries(tasks))
    for (const binding of BINDINGS) {
      const refused = { reason: 'UNSUPPORTED_OPERATION' }
      t.match((await ask(app, binding, 'send', sayV1('x', { taskId: id }))).error, refused, state)
      const both = sayV1('x', { taskId: id, contextId })
      t.match((await ask(app, binding, 'stream', both)).error, refused, state)
      t.match((await ask(app, binding, 'subscribe', { id })).error, refused, state)
      for (let time = 0; time < 2; time++)
        t.match((await ask(app, binding, 'cancel', { id })).error, { reason: 'TASK_NOT_CANCELABLE' }, state)
    }
  for (const [state, { id }] of Object.entries(tasks))
    t.match((await ask(app, 'rpc', 'get', { id })).result, { status: { state: `TASK_STATE_${state}` } })
})

t.test('a task that does not exist is not found, in every operation that names one', async (t) => {
  const app = await buildApp(t, { options: { pushNotifications: { allowPrivate: true } } })
  const url = 'http://127.0.0.1:9/'
  for (const binding of BINDINGS) {
    for (const taskId of ['nothing', crypto.randomUUID(), 'a b/c?d#e%', 'x'.repeat(100)]) {
      const asked = [
        await ask(app, binding, 'get', { id: taskId }),
        await ask(app, binding, 'cancel', { id: taskId }),
        await ask(app, binding, 'subscribe', { id: taskId }),
        await ask(app, binding, 'send', sayV1('x', { taskId })),
        await ask(app, binding, 'stream', sayV1('x', { taskId })),
        await ask(app, binding, 'setPushConfig', { taskId, url }),
        await ask(app, binding, 'getPushConfig', { taskId, id: 'x' }),
        await ask(app, binding, 'listPushConfigs', { taskId }),
        await ask(app, binding, 'deletePushConfig', { taskId, id: 'x' })
      ]
      for (const { error } of asked) t.match(error, { reason: 'TASK_NOT_FOUND' }, `${binding} ${taskId}`)
    }
  }
})

t.test('a task that waits can be canceled and subscribed to', async (t) => {
  const questioner = createQuestioner(undefined)
  const app = await buildApp(t, { runnables: [questioner] })
  for (const binding of BINDINGS) {
    const { id } = await begin(app, 'questioner')
    const subscribed = ask(app, binding, 'subscribe', { id })
    t.match((await ask(app, binding, 'cancel', { id })).result, {
      id,
      status: { state: 'TASK_STATE_CANCELED' }
    })
    const { events } = await subscribed
    t.match(events!.at(-1), { statusUpdate: { taskId: id, status: { state: 'TASK_STATE_CANCELED' } } })
  }
})

/** An agent that says a word at a time, each once it may. */
function createSpeaker() {
  const gates: PromiseWithResolvers<void>[] = [Promise.withResolvers(), Promise.withResolvers()]
  const runnable: RunnableDefinition = {
    kind: 'agent',
    name: 'speaker',
    async *stream() {
      for (const [index, gate] of gates.entries()) {
        yield { type: 'text', text: `word ${index} ` }
        await gate.promise
      }
    }
  }
  return { runnable, gates }
}

t.test('a message waits until its task has ended, unless the client does not', async (t) => {
  for (const binding of BINDINGS) {
    const { runnable, gates } = createSpeaker()
    const app = await buildApp(t, { runnables: [runnable] })
    const at = { returnImmediately: true }
    const { task } = (await ask(app, binding, 'send', { ...sayV1('x'), configuration: at })).result
    t.match(task.status, { state: /^TASK_STATE_(SUBMITTED|WORKING)$/ }, 'it is under way')

    let isDone = false
    const waits = ask(app, binding, 'send', { ...sayV1('x'), configuration: { returnImmediately: false } })
    void waits.then(() => (isDone = true))
    const unset = ask(app, binding, 'send', sayV1('x'))
    const streams = ask(app, binding, 'stream', { ...sayV1('x'), configuration: at })
    gates[0]!.resolve()
    await ask(app, binding, 'get', { id: task.id })
    t.notOk(isDone, 'it has not ended')
    gates[1]!.resolve()
    for (const { result } of [await waits, await unset])
      t.match(result.task, {
        status: { state: 'TASK_STATE_COMPLETED' },
        artifacts: [{ parts: [{ text: 'word 0 word 1 ' }] }]
      })
    const { events } = await streams
    t.match(
      events!.at(-1),
      { statusUpdate: { status: { state: 'TASK_STATE_COMPLETED' } } },
      'a stream follows'
    )
  }
})

t.test('a message returns when its task waits for input', async (t) => {
  const app = await buildApp(t, { runnables: [createQuestioner(undefined)] })
  for (const binding of BINDINGS) {
    const { task } = (await ask(app, binding, 'send', sayV1('x'))).result
    t.match(task.status, {
      state: 'TASK_STATE_INPUT_REQUIRED',
      message: {
        role: 'ROLE_AGENT',
        taskId: task.id,
        contextId: task.contextId,
        parts: [{ text: 'Which size?' }, {}]
      }
    })
    const { result } = await ask(app, binding, 'send', sayV1('large', { taskId: task.id }))
    t.match(result.task, {
      id: task.id,
      contextId: task.contextId,
      status: { state: 'TASK_STATE_COMPLETED' }
    })
  }
})

t.test('a stream gives progress as it is made', async (t) => {
  for (const binding of BINDINGS) {
    const { runnable, gates } = createSpeaker()
    const app = await buildApp(t, { runnables: [runnable] })
    const { body } = await fetch(`${app.url}/message:stream`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(sayV1('x'))
    })
    let text = ''
    const reader = body!.pipeThrough(new TextDecoderStream()).getReader()
    const until = async (words: string) => {
      while (!text.includes(words)) text += (await reader.read()).value ?? t.fail('the stream has ended')
    }
    await until('word 0 ')
    t.notMatch(text, /word 1/, binding)
    gates[0]!.resolve()
    await until('word 1 ')
    gates[1]!.resolve()
    await until('TASK_STATE_COMPLETED')
    t.equal((await reader.read()).done, true, 'it ends with its task')
  }
})
