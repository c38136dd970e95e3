import { once } from 'node:events'
import { Type } from '@sinclair/typebox'
import type { BetaManagedAgentsSessionEvent } from '@anthropic-ai/sdk/resources/beta/sessions/events'
import type { Registry } from '@svc/registry'
import { Agent, defineTool, Team } from '@svc/runtime'
import { scriptedModel } from '@svc/runtime/testing'
import { callsOf, send } from '@tools/wires/agents'
import t from 'tap'
import { readAll, refusalOf, sessionsApp, untilIdle, type SessionsApp } from '../helpers/sessions-app.ts'

const said = (events: readonly BetaManagedAgentsSessionEvent[]) =>
  events.flatMap((event) =>
    event.type === 'agent.message' ? event.content.map((block) => ('text' in block ? block.text : '')) : []
  )

const greeter = {
  add: (registry: Registry) =>
    new Agent({ name: 'greeter', model: scriptedModel(['Hello', 'Again']), registry })
}

t.test('a session from its first message to its deletion', async (t) => {
  const { client } = await sessionsApp(t, greeter)
  const session = await client.beta.sessions.create({
    agent: 'greeter',
    environment_id: 'env_service',
    title: 'First steps',
    metadata: { tenant: 'a' }
  })
  t.match(session, {
    type: 'session',
    status: 'idle',
    title: 'First steps',
    metadata: { tenant: 'a' },
    agent: { id: 'greeter', version: 1 },
    archived_at: null
  })
  t.same((await client.beta.sessions.events.list(session.id)).data, [])
  const events = untilIdle(client, session.id)
  const { data: [message] = [] } = await client.beta.sessions.events.send(session.id, {
    events: [{ type: 'user.message', content: [{ type: 'text', text: 'Hi' }] }]
  })
  const streamed = await events
  t.same(
    streamed.map(({ type }) => type),
    [
      'user.message',
      'session.status_running',
      'span.model_request_start',
      'agent.message',
      'span.model_request_end',
      'session.status_idle'
    ]
  )
  const listed = await readAll(client.beta.sessions.events.list(session.id, { limit: 2 }))
  t.same(listed, streamed, 'the list has what was streamed')
  t.equal(listed[0]!.id, message!.id)
  t.same(said(listed), ['Hello'])
  t.match((await client.beta.sessions.retrieve(session.id)).usage, { input_tokens: 10, output_tokens: 1 })

  t.match(
    await client.beta.sessions.update(session.id, { title: 'Renamed', metadata: { tenant: null, a: 'b' } }),
    {
      title: 'Renamed',
      metadata: { a: 'b' }
    }
  )
  t.match((await client.beta.sessions.archive(session.id)).archived_at, /^20/)
  const late = client.beta.sessions.events.send(session.id, { events: [{ type: 'user.interrupt' }] })
  t.equal(await refusalOf(late), '400 ANTHROPIC_ERR_ARCHIVED')
  t.same((await client.beta.sessions.list()).data, [], 'archived ones are left out')
  t.equal((await client.beta.sessions.list({ include_archived: true })).data.length, 1)
  t.same(await client.beta.sessions.delete(session.id), { id: session.id, type: 'session_deleted' })
  t.equal(await refusalOf(client.beta.sessions.retrieve(session.id)), '404 RUN_ERR_SESSION_NOT_FOUND')
})

t.test('initial events, filters and pages in both directions', async (t) => {
  const { client } = await sessionsApp(t, greeter)
  const message = (text: string) => ({
    type: 'user.message' as const,
    content: [{ type: 'text' as const, text }]
  })
  const ids: string[] = []
  for (const place of [1, 2, 3]) {
    const { id } = await client.beta.sessions.create({
      agent: { type: 'agent', id: 'greeter', version: 1 },
      environment_id: 'env_service',
      title: `Session ${place}`,
      initial_events: place === 1 ? [message('Hi'), message('And again')] : []
    })
    ids.unshift(id)
    if (place === 1) await untilIdle(client, id, 2)
  }
  const first = ids.at(-1)!
  const texts = await readAll(
    client.beta.sessions.events.list(first, { types: ['user.message', 'agent.message'] })
  )
  t.same(
    texts.map((event) => ('content' in event ? JSON.stringify(event.content) : '')),
    ['Hi', 'Hello', 'And again', 'Again'].map((text) => JSON.stringify([{ type: 'text', text }]))
  )
  const back = await readAll(client.beta.sessions.events.list(first, { order: 'desc', limit: 3 }))
  t.same(back.toReversed(), await readAll(client.beta.sessions.events.list(first)))
  const future = '2999-01-01T00:00:00Z'
  t.same((await client.beta.sessions.events.list(first, { 'created_at[gt]': future })).data, [])

  const one = await client.beta.sessions.list({ limit: 2 })
  const listed = one.data.map(({ id }) => id)
  t.equal(one.prev_page, null)
  const two = await client.beta.sessions.list({ limit: 2, page: one.next_page })
  t.same([...listed, ...two.data.map(({ id }) => id)].toSorted(), ids.toSorted())
  const again = await client.beta.sessions.list({ limit: 2, page: two.prev_page })
  t.same(
    again.data.map(({ id }) => id),
    listed
  )
  t.equal((await client.beta.sessions.list({ agent_id: 'nobody' })).data.length, 0)
  t.equal((await client.beta.sessions.list({ statuses: ['running'] })).data.length, 0)
  t.equal(
    await refusalOf(client.beta.sessions.list({ limit: 2, page: one.next_page, agent_id: 'greeter' })),
    '400 ANTHROPIC_ERR_BAD_PAGE'
  )
})

t.test('a confirmation, allowed and denied', async (t) => {
  const { client } = await sessionsApp(t, {
    add: (registry) =>
      new Agent({
        name: 'mailer',
        model: scriptedModel([
          { text: 'Two mails', ...callsOf(['send', { to: 'ann' }], ['send', { to: 'bob' }]) },
          'Done'
        ]),
        registry,
        tools: [send]
      })
  })
  const { id } = await begin(client, 'mailer')
  const asked = await untilIdle(client, id)
  const uses = asked.filter((event) => event.type === 'agent.tool_use')
  t.match(uses, [
    { name: 'send', input: { to: 'ann' }, evaluated_permission: 'ask' },
    { name: 'send', input: { to: 'bob' } }
  ])
  const idle = asked.at(-1)!
  const event_ids = uses.map((use) => use.id)
  t.match(idle, { type: 'session.status_idle', stop_reason: { type: 'requires_action', event_ids } })
  t.equal((await client.beta.sessions.retrieve(id)).status, 'idle')
  const answers = await client.beta.sessions.events.send(id, {
    events: [
      { type: 'user.tool_confirmation', tool_use_id: event_ids[0]!, result: 'allow' },
      { type: 'user.tool_confirmation', tool_use_id: event_ids[1]!, result: 'deny', deny_message: 'Not bob' }
    ]
  })
  const all = await untilEnd(client, id)
  t.same(said(all), ['Two mails', 'Done'])
  const confirmations = all.filter(({ type }) => type === 'user.tool_confirmation')
  t.same(
    confirmations.map((each) => each.id),
    answers.data!.map((each) => each.id)
  )
  t.match(confirmations, [{ result: 'allow' }, { result: 'deny', deny_message: 'Not bob' }])
  t.match(
    all.filter(({ type }) => type === 'agent.tool_result'),
    [
      { tool_use_id: event_ids[0], is_error: false },
      { tool_use_id: event_ids[1], is_error: true }
    ]
  )
  const twice = client.beta.sessions.events.send(id, {
    events: [{ type: 'user.tool_confirmation', tool_use_id: event_ids[0]!, result: 'allow' }]
  })
  t.equal(await refusalOf(twice), '400 ANTHROPIC_ERR_ANSWERED')
})

t.test('tools of the client, by the runner of the SDK', async (t) => {
  const { client } = await sessionsApp(t, {
    add: (registry) =>
      new Agent({
        name: 'clerk',
        model: scriptedModel([callsOf(['shelf', { item: 'milk' }]), 'Two bottles']),
        registry
      })
  })
  const { id } = await client.beta.sessions.create({
    agent: {
      type: 'agent_with_overrides',
      id: 'clerk',
      system: 'Be brief',
      tools: [
        {
          type: 'custom',
          name: 'shelf',
          description: 'Counts what is on the shelf',
          input_schema: { type: 'object', properties: { item: { type: 'string' } } }
        }
      ]
    },
    environment_id: 'env_service',
    initial_events: [{ type: 'user.message', content: [{ type: 'text', text: 'How much milk?' }] }]
  })
  const calls: unknown[] = []
  const runner = client.beta.sessions.events.toolRunner(id, {
    maxIdleMs: 50,
    tools: [
      {
        type: 'custom',
        name: 'shelf',
        description: 'Counts what is on the shelf',
        input_schema: { type: 'object' },
        parse: (value: unknown) => value,
        run: (input: unknown) => `two of ${(input as { item: string }).item}`
      } as never
    ]
  })
  for await (const call of runner) calls.push([call.name, call.isError, call.posted])
  t.same(calls, [['shelf', false, true]])
  const all = await readAll(client.beta.sessions.events.list(id))
  t.match(
    all.filter(({ type }) => type === 'user.custom_tool_result'),
    [{ content: [{ type: 'text', text: 'two of milk' }], is_error: false }]
  )
  t.same(said(all), ['Two bottles'])
  t.match((await client.beta.sessions.retrieve(id)).agent.tools, [{ type: 'custom', name: 'shelf' }])
})

t.test('an interrupt ends the run under way, before what waits', async (t) => {
  const begun = Promise.withResolvers<void>()
  const wait = defineTool({
    name: 'wait',
    description: 'Waits until it is interrupted',
    input: Type.Object({}),
    async execute(_, { signal }) {
      begun.resolve()
      await once(signal, 'abort')
    }
  })
  const { client } = await sessionsApp(t, {
    add: (registry) =>
      new Agent({
        name: 'slow',
        model: scriptedModel([callsOf(['wait', {}]), 'Next']),
        tools: [wait],
        registry
      })
  })
  const { id } = await begin(client, 'slow')
  await begun.promise
  const { data } = await client.beta.sessions.events.send(id, {
    events: [
      { type: 'user.interrupt' },
      { type: 'user.message', content: [{ type: 'text', text: 'Something else' }] }
    ]
  })
  const all = await untilEnd(client, id, 2)
  const ids = all.map((event) => event.id)
  t.same(
    data!.map((event) => ids.indexOf(event.id)).toSorted((one, other) => one - other),
    data!.map((event) => ids.indexOf(event.id)),
    'in this order'
  )
  t.same(
    data!.map(({ type }) => type),
    ['user.interrupt', 'user.message']
  )
  t.same(said(all), ['Next'])
  const nothing = await client.beta.sessions.events.send(id, { events: [{ type: 'user.interrupt' }] })
  t.same(nothing.data, [], 'nothing runs')
})

t.test('members of a team are threads', async (t) => {
  const { client } = await sessionsApp(t, {
    add(registry) {
      const ada = new Agent({ name: 'ada', model: scriptedModel('Ada says'), registry })
      const bob = new Agent({ name: 'bob', model: scriptedModel('Bob says'), registry })
      new Team({ name: 'crew', mode: 'sequence', members: [ada, bob], registry })
    }
  })
  const { id } = await begin(client, 'team/crew')
  const all = await untilEnd(client, id)
  t.same(said(all), ['Bob says'])
  t.match(
    all.filter(({ type }) => type === 'agent.thread_message_received'),
    [{ from_agent_name: 'ada' }, { from_agent_name: 'bob' }]
  )
  const threads = await readAll(client.beta.sessions.threads.list(id, { limit: 1 }))
  t.match(threads, [
    { parent_thread_id: null, agent: { name: 'crew' } },
    { agent: { name: 'ada' }, status: 'idle' },
    { agent: { name: 'bob' } }
  ])
  const [primary, ada] = threads
  t.equal(ada!.parent_thread_id, primary!.id)
  const ids = { session_id: id }
  t.same(await client.beta.sessions.threads.retrieve(ada!.id, ids), ada)
  t.same(said(await readAll(client.beta.sessions.threads.events.list(ada!.id, ids))), ['Ada says'])
  t.same(await readAll(client.beta.sessions.threads.events.list(primary!.id, ids)), all)
  t.equal(
    await refusalOf(client.beta.sessions.threads.retrieve('sthr_none_1', ids)),
    '404 ANTHROPIC_ERR_UNKNOWN_THREAD'
  )
})

const begin = (client: SessionsApp['client'], agent: string, text = 'Go') =>
  client.beta.sessions.create({
    agent,
    environment_id: 'env_service',
    initial_events: [{ type: 'user.message', content: [{ type: 'text', text }] }]
  })

/** The events of a session once this many of its turns have ended. */
async function untilEnd(client: SessionsApp['client'], id: string, turns = 1) {
  await untilIdle(client, id, turns, true)
  return readAll(client.beta.sessions.events.list(id))
}

t.test('a stream tells that its session is deleted, and ends', async (t) => {
  const { client } = await sessionsApp(t, greeter)
  const { sessions } = client.beta
  const { id } = await sessions.create({ agent: 'greeter', environment_id: 'env_service' })
  const streams = [
    await sessions.events.stream(id),
    await sessions.threads.events.stream(`sthr_${id}`, { session_id: id })
  ]
  await sessions.delete(id)
  for (const stream of streams) {
    const events = await readAll<{ type: string }>(stream)
    t.match(events, [{ type: 'session.deleted', id: `sevt_${id}_deleted`, processed_at: /^20/ }])
    t.equal(events.length, 1)
  }
})

t.test('a fork has the events of the session that it continues', async (t) => {
  const { app, client } = await sessionsApp(t, greeter)
  const { sessions } = client.beta
  const initial_events = [{ type: 'user.message' as const, content: [{ type: 'text' as const, text: 'Hi' }] }]
  const { id } = await sessions.create({ agent: 'greeter', environment_id: 'env_service', initial_events })
  const inherited = await untilIdle(client, id)
  const key = {
    registry: 'global',
    kind: 'agent',
    name: 'greeter',
    owner: 'anonymous',
    sessionId: id
  } as const
  const fork = await app.runs.sessions.fork(key)
  t.same(await readAll(sessions.events.list(fork.sessionId, { limit: 2 })), inherited)
  await sessions.events.send(fork.sessionId, { events: initial_events })
  await untilIdle(client, fork.sessionId, 2)
  const all = await readAll(sessions.events.list(fork.sessionId, { limit: 5 }))
  t.same(all.slice(0, inherited.length), inherited)
  t.same(said(all), ['Hello', 'Again'])
  const reversed = await readAll(sessions.events.list(fork.sessionId, { limit: 5, order: 'desc' }))
  t.same(reversed, all.toReversed())
})

t.test('sessions are listed by their last change in both orders, in pages, also back', async (t) => {
  const { client } = await sessionsApp(t, greeter)
  const { sessions } = client.beta
  for (const title of ['a', 'b', 'c', 'd', 'e'])
    await sessions.create({ agent: 'greeter', environment_id: 'env_service', title })
  const titles = (all: readonly { readonly title: string | null }[]) => all.map(({ title }) => title)
  const down = titles(await readAll(sessions.list({ limit: 2 })))
  t.equal(new Set(down).size, 5)
  const up = down.toReversed()
  t.same(titles(await readAll(sessions.list({ order: 'asc', limit: 2 }))), up)
  const first = await sessions.list({ order: 'asc', limit: 2 })
  const second = await sessions.list({ order: 'asc', limit: 2, page: first.next_page! })
  t.same(titles(second.data), up.slice(2, 4))
  const back = await sessions.list({ order: 'asc', limit: 2, page: second.prev_page! })
  t.same(titles(back.data), up.slice(0, 2))
  t.equal(
    await refusalOf(sessions.list({ page: first.next_page! })),
    '400 ANTHROPIC_ERR_BAD_PAGE',
    'of the other order'
  )
})
