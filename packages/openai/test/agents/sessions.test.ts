import type { AgentSessionEvent } from 'openai/resources/beta/agents/agents'
import t from 'tap'
import { promptOf, supportAgent } from '../helpers/agents.ts'
import { agentsApp, collect, refusalOf, until } from './helpers/agents-app.ts'

const environment = { type: 'none' } as const

/** The text of a message of any kind. */
function textOf(item: object): string {
  return (item as { content: { text?: string }[] }).content.map(({ text = '' }) => text).join('')
}

t.test('a session is created, streamed, listed, changed and deleted', async (t) => {
  const { add, model } = supportAgent([{ text: ['Hel', 'lo'] }, 'Again'])
  const { client } = await agentsApp(t, { add })
  const { sessions } = client().beta.agents
  const metadata = { order: '7' }
  const session = await sessions.create({ agent_id: 'support', environment, metadata })
  t.match(session, { object: 'agent.session', status: 'idle', metadata, agent: { id: 'support' } })
  t.match(session.id, /^sess_/)

  const result = await sessions.stream(session.id, { input: 'Hi' }).finalResult()
  t.equal(result.turn.status, 'completed')
  t.match(result.turn.usage, { input_tokens: 10, output_tokens: 2, total_tokens: 12 })
  t.same(result.messages.map(textOf), ['Hello'])
  const second = await collect(sessions.stream(session.id, { input: 'And?' }))
  t.same(
    second.map(({ type }) => type.replace('agent.session.', '')),
    [
      'turn.created',
      'in_progress',
      'turn.in_progress',
      'turn.item.added',
      'turn.item.added',
      'turn.content_part.added',
      'turn.output_text.delta',
      'turn.output_text.done',
      'turn.content_part.done',
      'turn.item.done',
      'turn.completed',
      'idle'
    ]
  )
  t.same(promptOf(model.calls[1]!), ['Hi', 'Hello', 'And?'])

  const items = await collect(sessions.items.list(session.id, { order: 'asc', limit: 1 }))
  t.same(items.map(textOf), ['Hi', 'Hello', 'And?', 'Again'])
  t.same(
    items.map((item) => 'phase' in item && item.phase),
    [null, 'final_answer', null, 'final_answer']
  )
  const newest = await sessions.items.list(session.id, { limit: 3 })
  t.same([newest.data.map(textOf), newest.has_more], [['Again', 'And?', 'Hello'], true])
  const streamed = second.flatMap((event) =>
    event.type.endsWith('item.done') && 'item' in event ? event.item : []
  )
  t.same(streamed, items.slice(3), 'a stream and the list have the same items')

  const turns = await collect(sessions.turns.list(session.id))
  t.same(
    turns.map(({ status, subagent_id: of }) => [status, of]),
    [
      ['completed', null],
      ['completed', null]
    ]
  )
  const turn = await sessions.turns.retrieve(turns[1]!.id, { session_id: session.id })
  t.same(turn, turns[1])
  const ofTurn = await collect(sessions.turns.items.list(turn.id, { session_id: session.id, order: 'asc' }))
  t.same(ofTurn.map(textOf), ['Hi', 'Hello'])
  t.same((await sessions.subagents.list(session.id)).data, [])
  t.match(
    (await sessions.retrieve(session.id)).usage,
    { input_tokens: 20, output_tokens: 3, total_tokens: 23 },
    'the tokens of a session are those of its turns'
  )

  const changed = await sessions.update(session.id, { metadata: { order: '8' } })
  t.same(changed.metadata, { order: '8' })
  t.same((await sessions.update(session.id, { metadata: {} })).metadata, {})
  t.same(
    (await sessions.list()).data.map(({ id }) => id),
    [session.id]
  )
  t.same(await sessions.delete(session.id), {
    id: session.id,
    object: 'agent.session.deleted',
    deleted: true
  })
  t.match(await refusalOf(sessions.retrieve(session.id)), { status: 404, code: 'RUN_ERR_SESSION_NOT_FOUND' })
})

t.test('a session is created with its first message, as events or as an object', async (t) => {
  const { add } = supportAgent('Hello')
  const { client } = await agentsApp(t, { add })
  const { sessions } = client().beta.agents
  const stream = await sessions.create({ agent_id: 'support', environment, input: 'Hi', stream: true })
  const events = await collect(stream as AsyncIterable<AgentSessionEvent>)
  t.equal(events[0]!.type, 'agent.session.created')
  t.equal(events.at(-1)!.type, 'agent.session.idle')
  const again = await sessions.create({ agent_id: 'support', environment, input: 'Hi', stream: true })
  const result = await again.finalResult()
  t.same(result.messages.map(textOf), ['Hello'])

  const content = [{ type: 'input_text', text: 'Hi' }] as const
  const created = await sessions.create({
    agent_id: 'support',
    environment,
    input: [{ role: 'user', content: [...content] }]
  })
  t.ok(['idle', 'in_progress'].includes(created.status))
})

t.test('a request that is sent again gets the same session, and the same turn', async (t) => {
  const { add, model } = supportAgent('Hello')
  const { client } = await agentsApp(t, { add })
  const { sessions } = client().beta.agents
  const body = { agent_id: 'support', environment, input: 'Hi', stream: true } as const
  const options = { headers: { 'Idempotency-Key': 'k-1' } }
  const first = await collect((await sessions.create(body, options)) as AsyncIterable<AgentSessionEvent>)
  const second = await collect((await sessions.create(body, options)) as AsyncIterable<AgentSessionEvent>)
  t.same(second, first)
  const { id } = (await sessions.list()).data[0]!
  const events = [
    {
      type: 'agent.session.input.message',
      input: [{ role: 'user', content: [{ type: 'input_text', text: 'More' }] }]
    }
  ] as never[]
  for (let time = 0; time < 2; time++) await sessions.events.create(id, { events, 'Idempotency-Key': 'm-1' })
  await until(
    () => sessions.retrieve(id),
    ({ status }) => status === 'idle'
  )
  t.equal(model.calls.length, 2)
  t.equal((await sessions.turns.list(id)).data.length, 2)
  t.match(await refusalOf(sessions.create({ ...body, input: 'Other' }, options)), { status: 422 })
})

t.test('sessions are listed by agent and metadata, in pages', async (t) => {
  const { add } = supportAgent('Hello')
  const other = supportAgent('Hello', { name: 'other' })
  const { client } = await agentsApp(t, { add: (registry) => [add(registry), other.add(registry)] })
  const { agents } = client().beta
  const { sessions } = agents
  const ids: string[] = []
  for (const [agent_id, tag] of [
    ['support', 'a'],
    ['other', 'b'],
    ['support', 'b']
  ] as const) {
    const { id } = await sessions.create({ agent_id, environment, metadata: { tag, kind: 'x' } })
    ids.unshift(id)
    await later()
  }
  const idsOf = async (query: object) => (await collect(sessions.list(query))).map(({ id }) => id)
  t.same(await idsOf({ limit: 1 }), ids)
  t.same(await idsOf({ agent_id: 'support' }), [ids[0], ids[2]])
  t.same(await idsOf({ metadata: { tag: 'b', kind: 'x' } }), [ids[0], ids[1]])
  t.same(await idsOf({ metadata: { tag: 'c' } }), [])
  t.same(await idsOf({ order: 'asc', limit: 1 }), (await idsOf({ limit: 2 })).toReversed())
  t.same(await idsOf({ order: 'asc', limit: 1, metadata: { tag: 'b' } }), [ids[1], ids[0]])
  t.match(await refusalOf(sessions.list({ after: 'none' })), {
    status: 400,
    code: 'OPENAI_ERR_BAD_CURSOR'
  })
  const named = await collect(agents.list({ limit: 1, order: 'asc' }))
  t.same(named.map(({ id }) => id).toSorted(), ['other', 'support'])
  t.match(await agents.retrieve('other'), { id: 'other', object: 'agent', name: 'other' })
})

// Changes in the same millisecond have no order.
async function later(): Promise<void> {
  const now = Date.now()
  while (Date.now() === now) await new Promise((resolve) => setImmediate(resolve))
}

t.test('a stream ends when its session is deleted', async (t) => {
  const { add } = supportAgent('Hello')
  const { client } = await agentsApp(t, { add })
  const { sessions } = client().beta.agents
  const { id } = await sessions.create({ agent_id: 'support', environment })
  const stream = await sessions.events.stream(id)
  await sessions.delete(id)
  t.same(await collect(stream), [])
})
