import { remoteAgent } from '@svc/a2a'
import { createContext, createInProcessStores, createRunEngine } from '@svc/registry'
import { inspect } from 'node:util'
import t from 'tap'
import type { MessagePart } from '../../src/model/message.ts'
import type { TaskEvent, TaskState } from '../../src/model/task.ts'
import { DIALECTS, serveFake, type Asked } from '../helpers/fake-service.ts'

interface Expected {
  code: string
  message?: string | RegExp
  retryable?: boolean
}

const SECRET = 'the-key-of-the-far-service'
const task = (state: TaskState, parts: MessagePart[]): TaskEvent => ({
  type: 'task',
  task: { id: 't', contextId: 'c', status: { state, message: { messageId: 'm', role: 'agent', parts } } }
})
const schema = { type: 'object', properties: { key: { type: 'string' } }, required: ['key'] }
const asks = task('auth-required', [
  { text: 'I need your key.' },
  { data: { inputId: 'i1', kind: 'auth', message: 'I need your key.', schema } }
])

for (const dialect of DIALECTS) {
  t.test(
    `${dialect.name}: credentials that a task needs are asked for here, and sent there alone`,
    async (t) => {
      const messages: Asked[] = []
      const { options } = await serveFake(t, dialect, (asked) => {
        messages.push(asked)
        return [messages.length === 1 ? asks : task('completed', [{ text: `Thanks for ${SECRET.length}.` }])]
      })
      const logged: unknown[] = []
      const note = (...said: unknown[]) => void logged.push(said)
      const stores = createInProcessStores()
      const engine = createRunEngine({ stores, log: { debug: note, info: note, warn: note, error: note } })
      t.teardown(() => engine.close())
      const run = await engine.start(remoteAgent({ ...options, name: 'far' }), 'x', { sessionId: 'mine' })
      const parts: unknown[] = []
      for await (const part of run.parts()) {
        parts.push(part)
        if (part.type !== 'input.request') continue
        t.match(part, { kind: 'auth', message: 'I need your key.', schema })
        await engine.answer(part.inputId, { action: 'accept', content: { key: SECRET } })
      }
      t.equal((await run.result()).text, `Thanks for ${SECRET.length}.`)
      t.match(messages[1], { taskId: 't', contextId: 'c' })
      t.match(
        JSON.stringify(messages[1]!.parts),
        `{"inputId":"i1","action":"accept","content":{"key":"${SECRET}"}}`
      )
      const kept = inspect([parts, logged, await engine.get(run.runId)], { depth: 20 })
      t.notMatch(kept, SECRET)
    }
  )

  t.test(`${dialect.name}: a task that does not say what it needs, and one that is rejected`, async (t) => {
    const states: [event: TaskEvent, error: Expected][] = [
      [
        task('auth-required', [{ text: 'Sign in at example.org.' }]),
        { code: 'A2A_ERR_REMOTE', retryable: false, message: /auth-required: Sign in at example\.org\.$/ }
      ],
      [
        task('rejected', [{ text: 'I do not do this.' }]),
        { code: 'RUN_ERR_REJECTED', retryable: false, message: 'I do not do this.' }
      ],
      [task('rejected', []), { code: 'RUN_ERR_REJECTED', message: 'The remote agent rejects it' }],
      [task('failed', [{ text: 'Boom.' }]), { code: 'A2A_ERR_REMOTE', retryable: true }]
    ]
    for (const [event, error] of states) {
      const { options } = await serveFake(t, dialect, () => [event])
      const engine = createRunEngine()
      t.teardown(() => engine.close())
      const run = await engine.start(remoteAgent({ ...options, name: 'far' }), 'x')
      await t.rejects(run.result(), error)
      const { retryable: _, ...thrown } = error
      await t.rejects(remoteAgent({ ...options, name: 'far' }).run('x', createContext()), thrown)
    }
  })
}
