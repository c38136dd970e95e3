import { join } from 'node:path'
import type { RunnableDefinition } from '@svc/registry'
import store from '@svc/store'
import t from 'tap'
import { asker } from '../helpers/agents.ts'
import { anyone, buildApp, echo, say, type AppRequest, type RpcReply } from '../helpers/build-app.ts'

// An agent that requests three approvals.
const curious: RunnableDefinition = {
  kind: 'agent',
  name: 'curious',
  async *stream(_input, { approvals }) {
    for (const toolCallId of ['c1', 'c2', 'c3']) {
      const call = { toolCallId, toolName: 'remove', args: {} }
      yield { type: 'tool.call', ...call }
      const { approved } = await approvals.request(call)
      yield { type: 'text', text: `${toolCallId}:${approved} ` }
    }
  }
}

type Before = NonNullable<AppRequest['before']>
const kinds: [name: string, before: (folder: string) => Before][] = [
  ['memory', () => async () => {}],
  ['SQLite', (folder) => async (app) => app.register(store, { url: `sqlite:${join(folder, 'app.db')}` })]
]

const textOf = ({ result }: RpcReply): string => result.artifacts[0].parts[0].text

for (const [name, begin] of kinds) {
  t.test(`simultaneous answers, in ${name}`, async (t) => {
    const app = await buildApp(t, {
      runnables: [asker, echo, curious],
      before: begin(t.testdir()),
      options: { authenticate: anyone }
    })
    const begun = async () => (await app.rpc('message/send', say('asker'))).result.id as string
    const tell = (text: string, taskId: string, messageId: string = crypto.randomUUID()) =>
      app.rpc('message/send', say(text, { taskId, messageId }))

    await t.test('one counts, and the others are refused', async (t) => {
      for (let time = 0; time < 5; time++) {
        const taskId = await begun()
        const replies = await Promise.all([
          tell('approve', taskId),
          tell('deny', taskId),
          tell('approve', taskId)
        ])
        const taken = replies.filter(({ result }) => result !== undefined)
        t.equal(taken.length, 1)
        for (const { error } of replies) if (error) t.match(error.code, -32004, error.message)
      }
    })

    await t.test('a simultaneous cancel is no internal error', async (t) => {
      for (let time = 0; time < 5; time++) {
        const taskId = await begun()
        const replies = await Promise.all([tell('approve', taskId), app.rpc('tasks/cancel', { id: taskId })])
        for (const { error } of replies) if (error) t.match(String(error.code), /-3200[24]/, error.message)
      }
    })

    await t.test('a message to a run of another surface is accepted once', async (t) => {
      const run = await app.runs.start(app.app.registry.get('agent', 'curious')!, 'x', {
        principal: await anyone()
      })
      while ((await app.runs.get(run.runId))?.status !== 'input-required') await new Promise(setImmediate)
      const first = await tell('approve', run.runId, 'e1')
      t.match(first.result.status, { state: 'input-required' })
      t.same(await tell('approve', run.runId, 'e1').then(textOf), 'c1:true ', 'sent again')
      const apart = await app.rpc('message/send', say('approve', { messageId: 'e1' }))
      t.not(apart.result.id, run.runId, 'without a task it is another message')
      t.match(await tell('deny', run.runId, 'e1').then(textOf), 'c1:true c2:false ', 'and so is another text')
      const same = await Promise.all([tell('deny', run.runId, 'e3'), tell('deny', run.runId, 'e3')])
      for (const reply of same) t.equal(textOf(reply), 'c1:true c2:false c3:false ')
      const { result } = await app.rpc('tasks/get', { id: run.runId })
      const said = result.history.map(({ role, parts }: { role: string; parts: [{ text: string }] }) =>
        role === 'user' ? parts[0].text : 'asks or answers'
      )
      const other = 'asks or answers'
      t.same(said, [other, 'approve', other, 'deny', other, 'deny', other])
    })

    await t.test('two simultaneous first messages', async (t) => {
      const run = await app.runs.start(app.app.registry.get('agent', 'curious')!, 'x', {
        principal: await anyone()
      })
      while ((await app.runs.get(run.runId))?.status !== 'input-required') await new Promise(setImmediate)
      const replies = await Promise.all(['f1', 'f2', 'f2'].map((id) => tell('hm', run.runId, id)))
      for (const reply of replies) t.match(reply, { result: { status: { state: 'input-required' } } })
      t.equal(
        (await app.rpc('tasks/get', { id: run.runId })).result.history.length,
        3,
        'both, after the question'
      )
      await app.rpc('tasks/cancel', { id: run.runId })
    })

    await t.test('the same id for an answer and a new task: they are two messages', async (t) => {
      for (let time = 0; time < 5; time++) {
        const taskId = await begun()
        const messageId = `both ${time}`
        const [answered, started] = await Promise.all([
          tell('approve', taskId, messageId),
          app.rpc('message/send', say('asker', { messageId }))
        ])
        t.match(answered.result, { id: taskId, status: { state: 'completed' } })
        t.not(started.result.id, taskId)
        t.match(started.result.status, { state: 'input-required' })
      }
    })
  })
}
