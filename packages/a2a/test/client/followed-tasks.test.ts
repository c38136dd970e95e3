import { errors, remoteAgent } from '@svc/a2a'
import { createContext } from '@svc/registry'
import t from 'tap'
import type { TaskEvent, TaskState } from '../../src/model/task.ts'
import { DIALECTS, serveFake, type Reply } from '../helpers/fake-service.ts'

const task = (state: TaskState, text = ''): TaskEvent => ({
  type: 'task',
  task: {
    id: 't',
    contextId: 'c',
    status: { state },
    artifacts: text === '' ? [] : [{ artifactId: 'a', parts: [{ text }] }]
  }
})

for (const dialect of DIALECTS) {
  t.test(`${dialect.name}: a task that cannot be subscribed to any more is read`, async (t) => {
    const replies: Record<string, Reply> = {
      stream: [task('working')],
      subscribe: new errors.A2A_ERR_UNSUPPORTED('the task has ended'),
      get: [task('completed', 'late')]
    }
    const { asked, options } = await serveFake(t, dialect, ({ operation }) => replies[operation]!)
    t.equal((await remoteAgent({ ...options, name: 'far' }).run('x', createContext())).text, 'late')
    t.same(
      asked.map(({ operation, id }) => [operation, id ?? null]),
      [
        ['stream', null],
        ['subscribe', 't'],
        ['get', 't']
      ]
    )
  })

  t.test(`${dialect.name}: a task that is gone while it is followed ends the run`, async (t) => {
    const gone = new errors.A2A_ERR_TASK_NOT_FOUND()
    const { asked, options } = await serveFake(t, dialect, ({ operation }) =>
      operation === 'stream' ? [task('working')] : gone
    )
    await t.rejects(remoteAgent({ ...options, name: 'far' }).run('x', createContext()), {
      code: 'A2A_ERR_REMOTE',
      message: /-32001/
    })
    t.same(
      asked.slice(0, 3).map(({ operation }) => operation),
      ['stream', 'subscribe', 'get']
    )
  })

  t.test(`${dialect.name}: the task of a service that does not stream is read until it ends`, async (t) => {
    const states = [task('working'), task('working'), task('completed', 'done')]
    const { asked, url } = await serveFake(t, dialect, () => [states.shift()!])
    t.equal((await remoteAgent({ url, name: 'far' }).run('x', createContext())).text, 'done')
    t.same(
      asked.map(({ operation }) => operation),
      ['send', 'get', 'get']
    )
  })
}

t.test('HTTP+JSON: an id of dots is no path', async (t) => {
  for (const dialect of DIALECTS.filter(({ binding }) => binding === 'HTTP+JSON'))
    for (const id of ['.', '..', '']) {
      const working: TaskEvent = { type: 'task', task: { id, contextId: 'c', status: { state: 'working' } } }
      const { asked, options } = await serveFake(t, dialect, () => [working])
      await t.rejects(remoteAgent({ ...options, name: 'far' }).run('x', createContext()), {
        code: 'A2A_ERR_BAD_ANSWER'
      })
      t.equal(asked.length, 1)
    }
})
