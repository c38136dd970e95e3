import { Type } from '@sinclair/typebox'
import { createScopeAuthorize } from '@svc/http'
import type { RunEngine, RunnableDefinition } from '@svc/registry'
import t from 'tap'
import type { MessagePart } from '../../src/model/message.ts'
import { clientCaller, createQuestioner } from '../helpers/agents.ts'
import { buildApp, say, sayV1, type TestApp } from '../helpers/build-app.ts'
import { connectSdkClients } from '../helpers/sdk-clients.ts'

const form = Type.Object({ size: Type.Integer({ minimum: 1 }) })
const sizes = Type.Union([Type.Literal('S'), Type.Literal('L')])
const runnables = [
  createQuestioner(form, 'form'),
  createQuestioner(undefined, 'free'),
  createQuestioner(Type.String({ maxLength: 9 }), 'text'),
  createQuestioner(sizes, 'choice'),
  clientCaller
]

async function begin(app: TestApp, agentName: string, headers?: Record<string, string>) {
  const { result } = await app.rpc('message/send', say('x', { metadata: { agentName } }), headers)
  const taskId = String(result.id)
  return { task: result, taskId, inputId: `${taskId}.1` }
}

async function answerOf(runs: RunEngine, runId: string) {
  return (await runs.get(runId))!.inputs[0]!.answer
}

t.test(
  'official clients of every version: data that fits answers a question, text only one for a text',
  async (t) => {
    const app = await buildApp(t, { runnables })
    for (const client of await connectSdkClients(app.origin))
      await t.test(client.name, async (t) => {
        const { taskId, inputId } = await begin(app, 'form')
        const fit = { inputId, action: 'accept', content: { size: 1 } }
        const nonAnswers: MessagePart[][] = [
          [{ text: 'one' }],
          [{ text: '0' }],
          [{ text: '{"size":"1"}' }],
          [{ data: fit }, { text: 'no' }],
          [{ data: { action: 'accept', content: { size: 1 } } }],
          [{ data: { inputId } }],
          [{ data: { ...fit, unless: 'it is Monday' } }],
          [{ data: { size: 1 } }]
        ]
        for (const parts of nonAnswers) {
          await client.send(parts, { taskId })
          t.equal(await answerOf(app.runs, taskId), null, JSON.stringify(parts))
        }
        const wrong: object[] = [
          { ...fit, action: 'yes' },
          { ...fit, content: { size: 0 } },
          { inputId, action: 'accept' },
          { ...fit, action: 'decline' },
          { ...fit, inputId: `${taskId}.2` },
          { ...fit, inputId: 5 },
          { approvalId: inputId, approved: true }
        ]
        for (const data of wrong) {
          await t.rejects(client.send([{ data }], { taskId }), JSON.stringify(data))
          t.equal(await answerOf(app.runs, taskId), null)
        }
        t.equal((await client.send([{ data: fit }], { taskId })).id, taskId)
        t.same(await answerOf(app.runs, taskId), { action: 'accept', content: { size: 1 } })

        for (const [name, text] of [
          ['free', 'approve'],
          ['text', 'L'],
          ['choice', 'L']
        ] as const) {
          const other = await begin(app, name)
          if (name !== 'free') {
            await t.rejects(client.send([{ text: 'far too long' }], { taskId: other.taskId }), name)
            t.equal(await answerOf(app.runs, other.taskId), null)
          }
          await client.send([{ text }], { taskId: other.taskId })
          t.same(await answerOf(app.runs, other.taskId), { action: 'accept', content: text }, name)
        }
        const called = await begin(app, 'caller')
        await client.send([{ text: 'here' }], { taskId: called.taskId })
        t.equal(await answerOf(app.runs, called.taskId), null, 'a text is no result of a tool')
        const result = { inputId: called.inputId, action: 'accept', content: 'here' }
        await client.send([{ data: result }], { taskId: called.taskId })
        t.same(await answerOf(app.runs, called.taskId), { action: 'accept', content: 'here' })
      })
  }
)

t.test('the question is the message of the status, in answers, streams and later', async (t) => {
  const app = await buildApp(t, { runnables })
  const { task, taskId, inputId } = await begin(app, 'form')
  const asked = {
    messageId: inputId,
    role: 'agent',
    parts: [
      { kind: 'text', text: 'Which size?' },
      {
        kind: 'data',
        data: {
          inputId,
          kind: 'question',
          message: 'Which size?',
          schema: { type: 'object', required: ['size'] },
          expiresAt: /Z$/
        }
      }
    ]
  }
  t.match(task.status, { state: 'input-required', message: asked })
  const [seen] = await app.stream('message/stream', say('hm', { taskId }))
  t.match(seen!.result.status, { state: 'input-required', message: asked })
  const fit = { inputId, action: 'accept', content: { size: 1 } }
  const { result } = await app.rpc('message/send', {
    message: { role: 'user', messageId: 'm', taskId, parts: [{ kind: 'data', data: fit }] }
  })
  t.equal(result.status.state, 'completed')
  t.match(result.artifacts, [{ parts: [{ text: '{"action":"accept","content":{"size":1}}' }] }])
  t.match(result.history.at(-2), { role: 'user', messageId: 'm' })

  const called = await begin(app, 'caller')
  t.match(called.task.status.message.parts, [
    { text: /Your tool "locate" is called/ },
    {
      data: {
        inputId: called.inputId,
        kind: 'tool',
        toolCallId: 'c',
        toolName: 'locate',
        args: { near: 'x' }
      }
    }
  ])
})

t.test('an answer is taken once, in time, and from another surface too', async (t) => {
  const app = await buildApp(t, { runnables })
  const tell = (taskId: string, content: unknown) =>
    app.rpc('SendMessage', {
      message: {
        role: 'ROLE_USER',
        messageId: crypto.randomUUID(),
        taskId,
        parts: [{ data: { inputId: `${taskId}.1`, action: 'accept', content } }]
      }
    })
  for (let time = 0; time < 10; time++) {
    const { taskId, inputId } = await begin(app, 'form')
    const replies = await Promise.all([
      tell(taskId, { size: 1 }),
      tell(taskId, { size: 2 }),
      app.runs.answer(inputId, { action: 'accept', content: { size: 3 } }).then(
        () => ({ result: {}, error: undefined }),
        () => ({ result: undefined, error: { code: -32004 } })
      )
    ])
    t.equal(replies.filter(({ result }) => result !== undefined).length, 1)
    for (const { error } of replies) if (error) t.equal(error.code, -32004)
    t.equal((await tell(taskId, { size: 4 })).error?.code, -32004, 'too late')
  }
})

t.test('a task with several requests says how to answer them', async (t) => {
  const both: RunnableDefinition = {
    kind: 'agent',
    name: 'both',
    run: async (_input, context) => {
      const request = { toolCallId: 'c1', toolName: 'remove', args: {} }
      const [{ action, content }, { approved }] = await Promise.all([
        context.ask({ message: 'Why?' }),
        context.approvals.request(request)
      ])
      return `${action} ${String(content)} ${approved}`
    }
  }
  const app = await buildApp(t, { runnables: [both] })
  const { taskId } = await begin(app, 'both')
  for (const text of ['approve', 'because']) {
    const { result } = await app.rpc('message/send', say(text, { taskId }))
    t.equal(result.status.state, 'input-required', `${text} may be for either`)
  }
  const data = { approvalId: `${taskId}.2`, approved: false }
  await app.rpc('message/send', {
    message: { role: 'user', messageId: 'd', taskId, parts: [{ kind: 'data', data }] }
  })
  const { result } = await app.rpc('message/send', say('because', { taskId, messageId: 'e' }))
  t.equal(result.artifacts[0].parts[0].text, 'accept because false')
})

t.test('questions are for their owner and inputs:answer, client tools for their owner only', async (t) => {
  const app = await buildApp(t, {
    runnables,
    options: {
      authenticate: ({ headers }) => {
        const [sub = '', ...scopes] = String(headers['x-caller']).split(' ')
        return { sub, scopes }
      },
      authorize: createScopeAuthorize({})
    }
  })
  const as = (caller: string) => ({ 'x-caller': caller })
  const ann = as('ann agents:run')
  const send = async (taskId: string, caller: string) => {
    const message = { parts: [{ data: { inputId: `${taskId}.1`, action: 'cancel' } }] }
    const { message: said } = sayV1('x', { taskId })
    return (await app.rpc('SendMessage', { message: { ...said, ...message } }, as(caller))).error?.code
  }
  const [asked, called] = [await begin(app, 'form', ann), await begin(app, 'caller', ann)]
  for (const caller of ['bob agents:run', 'eva agents:run approvals:answer', 'eva inputs:answer'])
    for (const { taskId } of [asked, called]) t.equal(await send(taskId, caller), -32001, caller)
  t.equal(await send(called.taskId, 'eva agents:run inputs:answer'), -32001)
  t.equal(await send(asked.taskId, 'eva agents:run inputs:answer'), undefined)
  t.equal(await send(called.taskId, 'ann agents:run'), undefined)
})
