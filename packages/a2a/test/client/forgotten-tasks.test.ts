import { errors, remoteAgent } from '@svc/a2a'
import { createRunEngine } from '@svc/registry'
import t, { type Test } from 'tap'
import type { TaskEvent, TaskState } from '../../src/model/task.ts'
import { DIALECTS, serveFake, type Asked, type Dialect, type Reply } from '../helpers/fake-service.ts'

const task = (id: string, contextId: string, state: TaskState, text: string): TaskEvent => ({
  type: 'task',
  task: {
    id,
    contextId,
    status: {
      state,
      message: { messageId: `m-${id}`, role: 'agent', parts: [{ text }], taskId: id, contextId }
    }
  }
})
const waits = task('t1', 'c1', 'input-required', 'Which one?')

/** The text of the runs of one session, and the task and context of each message; `replies` answer the messages in turn. */
async function converse(t: Test, dialect: Dialect, replies: readonly Reply[], runs: number) {
  const left = [...replies]
  const { asked, options } = await serveFake(t, dialect, () => left.shift()!)
  const engine = createRunEngine()
  t.teardown(() => engine.close())
  const agent = remoteAgent({ ...options, name: 'far' })
  const said: string[] = []
  for (let count = 0; count < runs; count++) {
    const run = await engine.start(agent, `message ${count}`, { sessionId: 'mine' })
    said.push(
      await run.result().then(
        ({ text }) => text,
        (err: Error) => `${(err as Error & { code: string }).code} ${err.message}`
      )
    )
  }
  return { said, asked: asked.map(({ taskId = null, contextId = null }) => [taskId, contextId]), all: asked }
}

for (const dialect of DIALECTS) {
  t.test(`${dialect.name}: a task that is gone is left, and its context continued`, async (t) => {
    for (const refusal of [
      new errors.A2A_ERR_TASK_NOT_FOUND(),
      new errors.A2A_ERR_UNSUPPORTED('the task has ended')
    ]) {
      const again = task('t2', 'c1', 'completed', 'The red one.')
      const { said, asked, all } = await converse(t, dialect, [[waits], refusal, [again], [again]], 3)
      t.same(said, ['Which one?', 'The red one.', 'The red one.'])
      t.same(asked, [
        [null, null],
        ['t1', 'c1'],
        [null, 'c1'],
        [null, 'c1']
      ])
      t.equal(all[1]!.messageId, all[2]!.messageId, 'it is the same message')
      t.same(all[1]!.parts, all[2]!.parts)
    }
  })

  t.test(`${dialect.name}: a context that is gone is left too`, async (t) => {
    const gone = new errors.A2A_ERR_TASK_NOT_FOUND()
    const unknown = new errors.A2A_ERR_BAD_PARAMS('contextId: unknown')
    const anew = task('t2', 'c2', 'completed', 'Hello.')
    const { said, asked } = await converse(t, dialect, [[waits], gone, unknown, [anew], [anew]], 3)
    t.same(said, ['Which one?', 'Hello.', 'Hello.'])
    t.same(asked, [
      [null, null],
      ['t1', 'c1'],
      [null, 'c1'],
      [null, null],
      [null, 'c2']
    ])
  })

  t.test(`${dialect.name}: a refusal that remains is the error`, async (t) => {
    const gone = new errors.A2A_ERR_TASK_NOT_FOUND()
    const { said, asked } = await converse(t, dialect, [[waits], gone, gone, gone], 2)
    t.match(said[1], /^A2A_ERR_REMOTE .*-32001/)
    t.equal(asked.length, 4)
  })

  t.test(`${dialect.name}: other refusals leave the task as it is`, async (t) => {
    const bad = new errors.A2A_ERR_BAD_PARAMS('content: does not fit')
    const done = task('t1', 'c1', 'completed', 'Thanks.')
    const { said, asked } = await converse(t, dialect, [[waits], bad, [done]], 3)
    t.match(said[1], /^A2A_ERR_REMOTE .*-32602/)
    t.equal(said[2], 'Thanks.')
    t.same(asked.slice(1), [
      ['t1', 'c1'],
      ['t1', 'c1']
    ])
    const none = await converse(t, dialect, [new errors.A2A_ERR_UNSUPPORTED('streams')], 1)
    t.match(none.said[0], /^A2A_ERR_REMOTE .*-32004/, 'without a task, -32004 says something else')
    t.equal(none.asked.length, 1)
  })
}

t.test('HTTP+JSON: bodies without a code of the protocol', async (t) => {
  const respond =
    (status: number, body: object): Reply =>
    (response) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  const refusals: Reply[] = [
    respond(404, { message: 'Task not found' }),
    respond(501, { message: 'This operation is not supported' }),
    respond(404, { type: 'https://a2a-protocol.org/errors/task-not-found', title: 'Task Not Found' }),
    respond(400, { type: 'https://a2a-protocol.org/errors/unsupported-operation', detail: 'It has ended' }),
    respond(400, { type: 'TaskNotFoundError', message: 'Task not found' }),
    respond(400, { error: { code: 400, message: 'x', details: [null, { reason: 'TASK_NOT_FOUND' }] } })
  ]
  for (const dialect of DIALECTS.filter(({ binding }) => binding === 'HTTP+JSON'))
    for (const refusal of refusals) {
      const done = task('t2', 'c1', 'completed', 'Hello.')
      const { said } = await converse(t, dialect, [[waits], refusal, [done]], 2)
      t.same(said, ['Which one?', 'Hello.'])
    }
})

t.test('a task that is lost while it asks ends the run, and the next message begins another', async (t) => {
  const asks: TaskEvent = {
    type: 'task',
    task: {
      id: 't1',
      contextId: 'c1',
      status: {
        state: 'input-required',
        message: {
          messageId: 'm',
          role: 'agent',
          parts: [{ data: { inputId: 'i', message: 'Which one?', schema: { type: 'string' } } }]
        }
      }
    }
  }
  const gone = new errors.A2A_ERR_TASK_NOT_FOUND()
  const left: Reply[] = [[asks], gone, gone, [task('t2', 'c1', 'completed', 'Hello.')]]
  const messages: Asked[] = []
  const { options } = await serveFake(t, DIALECTS[0]!, (asked) => {
    if (asked.operation !== 'stream') return gone
    messages.push(asked)
    return left.shift()!
  })
  const engine = createRunEngine()
  t.teardown(() => engine.close())
  const agent = remoteAgent({ ...options, name: 'far' })
  const run = await engine.start(agent, 'x', { sessionId: 'mine' })
  for await (const part of run.parts())
    if (part.type === 'input.request') await engine.answer(part.inputId, { action: 'accept', content: 'red' })
  await t.rejects(run.result(), { code: 'A2A_ERR_REMOTE', message: /-32001/ })
  t.equal((await (await engine.start(agent, 'y', { sessionId: 'mine' })).result()).text, 'Hello.')
  t.same(
    messages.map(({ taskId }) => taskId),
    [undefined, 't1', 't1', undefined]
  )
})
