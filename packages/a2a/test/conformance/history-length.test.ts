import t, { type Test } from 'tap'
import { createQuestioner } from '../helpers/agents.ts'
import { buildApp, sayV1 } from '../helpers/build-app.ts'
import { ask, BINDINGS, type BindingName } from '../helpers/conformance-client.ts'

interface Spoken {
  role: string
  messageId: string
  taskId: string
  contextId: string
  parts: { text: string }[]
}

/** A task whose history has a request, a question, an answer and the result, in that order. */
async function converse(t: Test, binding: BindingName) {
  const app = await buildApp(t, { runnables: [createQuestioner(undefined)] })
  const { task } = (await ask(app, binding, 'send', sayV1('A shirt, please', { messageId: 'm1' }))).result
  const taskId = task.id as string
  const answer = (configuration: object = {}) =>
    ask(app, binding, 'send', { ...sayV1('large', { messageId: 'm2', taskId }), configuration })
  return { app, taskId, contextId: task.contextId as string, answer }
}

const textsOf = (history: Spoken[] | undefined) => history?.map(({ parts }) => parts[0]!.text)

t.test('historyLength gives at most as many of the newest messages, and none for 0', async (t) => {
  for (const binding of BINDINGS) {
    const { app, taskId, contextId, answer } = await converse(t, binding)
    const { result } = await answer({ historyLength: 1 })
    const whole = ['A shirt, please', 'Which size?', 'large', '{"action":"accept","content":"large"}']
    t.same(textsOf(result.task.history), whole.slice(-1), 'of a message')

    const read = async (params: object) => {
      const { result: task } = await ask(app, binding, 'get', { id: taskId, ...params })
      const { result: list } = await ask(app, binding, 'list', { contextId, ...params })
      t.same(list.tasks[0].history, task.history, 'a list has the same')
      return task as { history?: Spoken[] }
    }
    t.same(textsOf((await read({})).history), whole, 'unset: all, in the order in which they were said')
    for (const length of [1, 2, 3, 4]) {
      const { history } = await read({ historyLength: length })
      t.same(textsOf(history), whole.slice(-length))
    }
    t.same(textsOf((await read({ historyLength: 1_000 })).history), whole)
    t.notOk('history' in (await read({ historyLength: 0 })), 'the field is left out')
    const [first, question, second] = (await read({})).history!
    t.match(
      [first, second],
      [
        { role: 'ROLE_USER', messageId: 'm1' },
        { role: 'ROLE_USER', messageId: 'm2' }
      ]
    )
    t.match(question, { role: 'ROLE_AGENT', taskId, contextId })
  }
})

t.test('historyLength holds for messages and streams, waiting or not', async (t) => {
  for (const binding of BINDINGS) {
    const { app, answer } = await converse(t, binding)
    t.notOk('history' in (await answer({ historyLength: 0 })).result.task)
    for (const configuration of [{ historyLength: 0 }, { historyLength: 0, returnImmediately: true }]) {
      const { result } = await ask(app, binding, 'send', { ...sayV1('x'), configuration })
      t.notOk('history' in result.task)
      const { events } = await ask(app, binding, 'stream', { ...sayV1('x'), configuration })
      t.notOk('history' in events![0].task)
    }
    const { events } = await ask(app, binding, 'stream', sayV1('x', { messageId: 'm3' }))
    t.match(events![0].task.history, [{ messageId: 'm3' }])
  }
})

t.test('a historyLength that is no count is refused, and named', async (t) => {
  for (const binding of BINDINGS) {
    const { app, taskId: id } = await converse(t, binding)
    for (const historyLength of [-1, 1.5, 'many', 4_294_967_296]) {
      const { error } = await ask(app, binding, 'get', { id, historyLength })
      t.match(
        error,
        { code: binding === 'rpc' ? -32602 : 400, fields: ['historyLength'] },
        String(historyLength)
      )
      t.match((await ask(app, binding, 'list', { historyLength })).error, { fields: ['historyLength'] })
      const configuration = { historyLength }
      const { error: sent } = await ask(app, binding, 'send', { ...sayV1('x'), configuration })
      t.match(sent, { fields: ['configuration.historyLength'] })
    }
  }
})
