import t from 'tap'
import { createQuestioner } from '../helpers/agents.ts'
import { buildApp, echo, sayV1 } from '../helpers/build-app.ts'
import { ask, BINDINGS } from '../helpers/conformance-client.ts'

t.test('the service makes the ids of tasks and contexts, and every object names them', async (t) => {
  for (const binding of BINDINGS) {
    const app = await buildApp(t, { runnables: [echo] })
    const seen = new Set<string>()
    for (let count = 0; count < 20; count++) {
      const { task } = (await ask(app, binding, 'send', sayV1('x'))).result
      seen.add(task.id).add(task.contextId)
      for (const { taskId, contextId } of task.history)
        t.match({ id: taskId, contextId }, { id: task.id, contextId: task.contextId })
    }
    t.equal(seen.size, 40, 'all are different')
    const { events } = await ask(app, binding, 'stream', sayV1('x'))
    const [{ task }, ...updates] = events!
    t.ok(task.id && task.contextId)
    for (const { statusUpdate, artifactUpdate } of updates)
      t.match(statusUpdate ?? artifactUpdate, { taskId: task.id, contextId: task.contextId })
  }
})

t.test('a context of the client is kept, and groups its tasks', async (t) => {
  for (const binding of BINDINGS) {
    const app = await buildApp(t, { runnables: [echo] })
    const contextId = `mine ${binding}/ä`
    const ids: string[] = []
    for (let count = 0; count < 2; count++) {
      const { task } = (await ask(app, binding, 'send', sayV1('x', { contextId }))).result
      t.equal(task.contextId, contextId)
      ids.push(task.id)
    }
    const { result } = await ask(app, binding, 'list', { contextId })
    t.same(result.tasks.map(({ id }: { id: string }) => id).toSorted(), ids.toSorted())
  }
})

t.test('a context that cannot be is refused, and no other takes its place', async (t) => {
  for (const binding of BINDINGS) {
    const app = await buildApp(t, { runnables: [echo] })
    for (const contextId of ['x'.repeat(257), 5, {}, ['c']]) {
      const { error, result } = await ask(app, binding, 'send', sayV1('x', { contextId }))
      t.match(error, { fields: ['message.contextId'] })
      t.equal(result, undefined)
    }
    t.match((await ask(app, binding, 'list')).result, { totalSize: 0 }, 'nothing began')
  }
})

t.test('the context of a message is that of its task, and may not contradict it', async (t) => {
  for (const binding of BINDINGS) {
    const app = await buildApp(t, { runnables: [createQuestioner(undefined)] })
    const begin = async () => (await ask(app, binding, 'send', sayV1('x'))).result.task
    const one = await begin()
    const other = await begin()
    for (const contextId of ['unknown', other.contextId])
      for (const name of ['send', 'stream'] as const) {
        const { error } = await ask(app, binding, name, sayV1('large', { taskId: one.id, contextId }))
        t.match(error, { code: binding === 'rpc' ? -32602 : 400, fields: ['message.contextId'] })
      }
    t.match((await ask(app, binding, 'get', { id: one.id })).result.status, {
      state: 'TASK_STATE_INPUT_REQUIRED'
    })
    const { task } = (await ask(app, binding, 'send', sayV1('large', { taskId: one.id }))).result
    t.match(task, { id: one.id, contextId: one.contextId, status: { state: 'TASK_STATE_COMPLETED' } })
    for (const message of task.history) t.equal(message.contextId, one.contextId, 'it is known')
    const both = sayV1('small', { taskId: other.id, contextId: other.contextId })
    t.match((await ask(app, binding, 'send', both)).result.task, { id: other.id })
  }
})

t.test('a client cannot choose the id of a new task', async (t) => {
  for (const binding of BINDINGS) {
    const app = await buildApp(t)
    for (const name of ['send', 'stream'] as const)
      t.match((await ask(app, binding, name, sayV1('x', { taskId: 'mine' }))).error, {
        reason: 'TASK_NOT_FOUND'
      })
    t.match((await ask(app, binding, 'list')).result, { totalSize: 0 })
  }
})
