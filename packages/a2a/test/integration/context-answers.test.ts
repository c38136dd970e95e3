import { Type } from '@sinclair/typebox'
import type { RunnableDefinition } from '@svc/registry'
import t from 'tap'
import { asker, clientCaller, createQuestioner } from '../helpers/agents.ts'
import { anyone, buildApp, echo, say, type TestApp } from '../helpers/build-app.ts'
import { connectSdkClients } from '../helpers/sdk-clients.ts'

const both: RunnableDefinition = {
  kind: 'agent',
  name: 'both',
  run: async (_input, context) => {
    await Promise.all([context.ask({ message: 'Why?' }), context.ask({ message: 'When?' })])
    return ''
  }
}

const runnables = [
  createQuestioner(undefined, 'free'),
  createQuestioner(Type.Object({ size: Type.Integer() }), 'form'),
  createQuestioner(Type.Union([Type.Literal('S'), Type.Literal('L')]), 'choice'),
  asker,
  clientCaller,
  both,
  echo
]

async function begin({ rpc }: TestApp, agentName: string) {
  const { result } = await rpc('message/send', say('x', { metadata: { agentName } }))
  return { taskId: String(result.id), contextId: String(result.contextId) }
}

t.test('official clients: a text in the context of a task that asks for a text is the answer', async (t) => {
  const app = await buildApp(t, { runnables })
  for (const client of await connectSdkClients(app.origin)) {
    const { taskId, contextId } = await begin(app, 'free')
    const { id } = await client.send([{ text: 'Large' }], { contextId })
    t.equal(id, taskId, client.name)
    t.match(await app.runs.get(taskId), {
      status: 'completed',
      inputs: [{ answer: { action: 'accept', content: 'Large' } }]
    })
    t.not((await client.send([{ text: 'And now?' }], { contextId })).id, taskId, 'it asks no more')
  }
})

t.test('a stream of the answer is that of the task', async (t) => {
  const app = await buildApp(t, { runnables })
  const { taskId, contextId } = await begin(app, 'free')
  const events = await app.stream('message/stream', say('Large', { contextId }))
  t.match(events[0]!.result, { kind: 'task', id: taskId })
  t.match(events.at(-1)!.result, { status: { state: 'completed' } })
})

t.test('a text that does not fit the question is refused, and the task keeps asking', async (t) => {
  const app = await buildApp(t, { runnables })
  const { taskId, contextId } = await begin(app, 'choice')
  const { error } = await app.rpc('message/send', say('Medium', { contextId }))
  t.equal(error?.code, -32602)
  t.equal((await app.rpc('message/send', say('L', { contextId }))).result.id, taskId)
})

t.test('in every other case the message begins a task of its own', async (t) => {
  const app = await buildApp(t, { runnables })
  const data = [{ kind: 'data', data: { size: 1 } }]
  const cases: [agent: string, text: string, fields?: object][] = [
    ['asker', 'approve'],
    ['caller', 'here'],
    ['form', 'one'],
    ['both', 'because'],
    ['free', 'x', { parts: data }],
    ['free', 'x', { parts: [{ kind: 'text', text: 'a' }, ...data] }],
    ['free', 'x', { metadata: { agentName: 'echo' } }],
    ['free', 'x', { contextId: 'another' }]
  ]
  for (const [agent, text, fields] of cases) {
    const { taskId, contextId } = await begin(app, agent)
    const message = say(text, { contextId, ...fields })
    const { result } = await app.rpc('message/send', { ...message, configuration: { blocking: false } })
    t.not(result.id, taskId, `${agent}: ${JSON.stringify(fields)}`)
    t.equal((await app.runs.get(taskId))!.status, 'input-required')
  }
})

t.test('a message that says what it does while a task is under way is no answer', async (t) => {
  const app = await buildApp(t, { runnables })
  const { taskId, contextId } = await begin(app, 'free')
  for (const metadata of [{ whenBusy: 'interrupt' }, { afterTurn: null }]) {
    // The agent takes no turns.
    t.equal((await app.rpc('message/send', say('x', { contextId, metadata }))).error?.code, -32602)
    t.equal((await app.rpc('message/send', { ...say('x', { contextId }), metadata })).error?.code, -32602)
  }
  t.equal((await app.runs.get(taskId))!.status, 'input-required')
})

t.test('the task of another owner is not answered', async (t) => {
  const app = await buildApp(t, {
    runnables,
    options: { authenticate: ({ headers }) => ({ sub: String(headers['x-caller']), scopes: [] }) }
  })
  const as = (caller: string) => ({ 'x-caller': caller })
  const message = say('x', { contextId: 'shared', metadata: { agentName: 'free' } })
  const { result } = await app.rpc('message/send', message, as('ann'))
  const other = await app.rpc('message/send', say('Large', { contextId: 'shared' }), as('bob'))
  t.not(other.result.id, result.id)
  t.equal((await app.runs.get(result.id))!.status, 'input-required')
  const own = await app.rpc('message/send', say('Large', { contextId: 'shared' }), as('ann'))
  t.equal(own.result.id, result.id)
})

t.test('an answer that is repeated is one', async (t) => {
  const app = await buildApp(t, { runnables, options: { authenticate: anyone } })
  const { taskId, contextId } = await begin(app, 'free')
  const answer = say('Large', { messageId: 'm1', contextId })
  for (const time of ['first', 'second']) {
    const { result } = await app.rpc('message/send', answer)
    t.equal(result.id, taskId, time)
    t.equal(result.history.filter(({ messageId }: { messageId: string }) => messageId === 'm1').length, 1)
  }
  t.not((await app.rpc('message/send', say('Small', { messageId: 'm1', contextId }))).result.id, taskId)
})

t.test('the message that began the task is no answer when it is repeated', async (t) => {
  const app = await buildApp(t, { runnables, options: { authenticate: anyone } })
  const first = say('x', { messageId: 'm1', contextId: 'c', metadata: { agentName: 'free' } })
  const { result } = await app.rpc('message/send', first)
  const again = await app.rpc('message/send', first)
  t.match(again.result, { id: result.id, status: { state: 'input-required' } })
  t.equal((await app.rpc('message/send', say('x', { messageId: 'm2', contextId: 'c' }))).result.id, result.id)
})
