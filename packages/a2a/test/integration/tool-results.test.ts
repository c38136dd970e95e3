import type { RunnableDefinition } from '@svc/registry'
import t from 'tap'
import { buildApp, say, sayV1, type TestApp } from '../helpers/build-app.ts'
import { createReceiver } from '../helpers/receiver.ts'

const MARKS = ['look_up', 'secret of the tool', 'argument of the tool', 'call-1']

/** Calls a tool, whose name, arguments and result are its own business, and answers. */
const worker: RunnableDefinition = {
  kind: 'agent',
  name: 'worker',
  async *stream() {
    const call = { toolCallId: 'call-1', toolName: 'look_up' }
    yield { type: 'tool.call', ...call, args: { query: 'argument of the tool' } }
    yield { type: 'tool.result', ...call, result: { found: 'secret of the tool' }, durationMs: 1 }
    yield { type: 'text', text: 'The answer.' }
  }
}

/** The texts of all answers about a task of the worker, by what was asked. */
async function readAll(app: TestApp, receiver: Awaited<ReturnType<typeof createReceiver>>) {
  const answers: Record<string, string> = {}
  const push = { pushNotificationConfig: { url: `${receiver.url}/old` } }
  const task = await app.rpc('message/send', { ...say('x'), configuration: push })
  const current = { taskPushNotificationConfig: { url: `${receiver.url}/new` } }
  answers['0.3 send'] = JSON.stringify(task)
  answers['1.0 send'] = JSON.stringify(
    await app.rpc('SendMessage', { ...sayV1('x'), configuration: current })
  )
  answers['0.3 get'] = JSON.stringify(await app.rpc('tasks/get', { id: task.result.id }))
  answers['1.0 get'] = JSON.stringify(await app.rpc('GetTask', { id: task.result.id }))
  answers['1.0 list'] = JSON.stringify(await app.rpc('ListTasks', { includeArtifacts: true }))
  answers['0.3 stream'] = JSON.stringify(await app.stream('message/stream', say('x')))
  answers['1.0 stream'] = JSON.stringify(await app.stream('SendStreamingMessage', sayV1('x')))
  answers['0.3 subscription'] = JSON.stringify(await app.stream('tasks/resubscribe', { id: task.result.id }))
  const isLast = ({ body }: { body: object }) => /COMPLETED|"completed"/.test(JSON.stringify(body))
  for (let count = 1; receiver.all.filter(isLast).length < 2; count++) await receiver.until(count)
  answers['push'] = JSON.stringify(receiver.all)
  return answers
}

t.test('what tools do stays inside the service, unless their results are exposed', async (t) => {
  for (const exposeToolResults of [undefined, false, true]) {
    const receiver = await createReceiver(t)
    const options = { pushNotifications: { allowPrivate: true } }
    const exposing = exposeToolResults === undefined ? { exposeToolResults: false } : { exposeToolResults }
    const app = await buildApp(t, { runnables: [worker], options: { ...options, ...exposing } })
    for (const [name, answer] of Object.entries(await readAll(app, receiver))) {
      t.match(answer, 'The answer.', name)
      const shown = MARKS.filter((mark) => answer.includes(mark))
      t.same(shown, exposeToolResults === true ? ['look_up', 'secret of the tool', 'call-1'] : [], name)
    }
  }
})
