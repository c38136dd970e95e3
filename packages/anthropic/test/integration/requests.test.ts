import { defineRunnable } from '@svc/registry'
import { Agent } from '@svc/runtime'
import { scriptedModel } from '@svc/runtime/testing'
import { talkingRunnable } from '@svc/testing'
import { authenticate, callsOf, send } from '@tools/wires/agents'
import { checkPlugin, parrot } from '@tools/wires/wire-checks'
import anthropic from '@svc/anthropic'
import t from 'tap'
import { readAll, refusalOf, sessionsApp, untilIdle } from '../helpers/sessions-app.ts'

const say = (text: string) => ({ type: 'user.message' as const, content: [{ type: 'text' as const, text }] })
const HEADERS = { 'anthropic-beta': 'managed-agents-2026-04-01', 'content-type': 'application/json' }
const environment_id = 'env_service'

t.test('unknown options are refused, and an app without an engine gets one', (t) =>
  checkPlugin(t, anthropic, 'ANTHROPIC_ERR_BAD_OPTION')
)

t.test('bad requests have the shape of the protocol, and never a status over 499', async (t) => {
  const { client, origin, app } = await sessionsApp(t, { runnables: [parrot] })
  const { id } = await client.beta.sessions.create({ agent: 'parrot', environment_id })
  const ask = async (path: string, body: string | object, headers: object = HEADERS) => {
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    const reply = await app.inject({
      method: 'POST',
      url: `/managed/v1/${path}`,
      headers: headers as Record<string, string>,
      payload: text
    })
    const {
      type,
      error,
      request_id: requestId
    } = reply.json<{
      type: string
      error: { type: string; details: { error_code: string } }
      request_id: string
    }>()
    t.equal(type, 'error', path)
    t.equal(reply.headers['request-id'], requestId)
    return `${reply.statusCode} ${error.type} ${error.details.error_code}`
  }
  const events = `sessions/${id}/events`
  const BAD = '400 invalid_request_error ANTHROPIC_ERR_BAD_REQUEST'
  const created = (more: object) => ask('sessions', { agent: 'parrot', environment_id, ...more })
  t.equal(await ask(events, { events: [{ type: 'user.shout' }] }), BAD)
  t.equal(await ask(events, { events: [] }), BAD)
  t.equal(await ask(events, { events: [say('')] }), BAD)
  t.equal(await ask(events, { events: [{ ...say('Hi'), more: 1 }] }), BAD)
  t.equal(await ask(events, '{"events":'), '400 invalid_request_error ANTHROPIC_ERR_BAD_JSON')
  t.equal(
    await ask(events, `{"a":${'['.repeat(100)}${']'.repeat(100)}}`),
    '400 invalid_request_error ANTHROPIC_ERR_BAD_JSON'
  )
  t.equal(
    await ask(events, { events: [say('x'.repeat(5_000_000))] }),
    '413 request_too_large ANTHROPIC_ERR_BODY_TOO_LARGE'
  )
  t.equal(await ask(events, { events: Array.from({ length: 51 }, () => say('Hi')) }), BAD)
  t.equal(await created({ initial_events: Array.from({ length: 51 }, () => say('Hi')) }), BAD)
  t.equal(
    await ask(`sessions/none/events`, { events: [say('Hi')] }),
    '404 not_found_error RUN_ERR_SESSION_NOT_FOUND'
  )
  const UNSUPPORTED = '400 invalid_request_error ANTHROPIC_ERR_UNSUPPORTED'
  for (const event of [
    { type: 'system.message', content: [{ type: 'text', text: 'Be brief' }] },
    { type: 'user.define_outcome', description: 'Done' },
    { type: 'user.message', content: [{ type: 'image', source: { type: 'file', file_id: 'file_1' } }] }
  ])
    t.equal(await ask(events, { events: [event] }), UNSUPPORTED, event.type)
  for (const more of [
    { vault_ids: ['vlt_1'] },
    { resources: [{ type: 'file', file_id: 'file_1' }] },
    { budget: { type: 'limit' } },
    { agent: { type: 'agent_with_overrides', id: 'parrot', model: 'claude' } },
    { agent: { type: 'agent_with_overrides', id: 'parrot', tools: [{ type: 'agent_toolset_20260401' }] } }
  ])
    t.equal(await created(more), UNSUPPORTED, Object.keys(more).join())
  t.equal(await created({ environment_id: 'env_1' }), '404 not_found_error ANTHROPIC_ERR_UNKNOWN_ENVIRONMENT')
  t.equal(
    await created({ agent: { type: 'agent', id: 'parrot', version: 2 } }),
    '404 not_found_error ANTHROPIC_ERR_UNKNOWN_VERSION'
  )
  t.equal(await created({ agent: 'nobody' }), '404 not_found_error ANTHROPIC_ERR_UNKNOWN_AGENT')
  t.equal(await created({ metadata: { a: 'x'.repeat(513) } }), BAD)
  const { 'anthropic-beta': _, ...without } = HEADERS
  t.equal(await ask(events, {}, without), '400 invalid_request_error ANTHROPIC_ERR_BETA_REQUIRED')
  t.equal(
    await ask(events, 'x', { ...HEADERS, 'content-type': 'text/plain' }),
    '415 invalid_request_error ANTHROPIC_ERR_UNSUPPORTED_MEDIA_TYPE'
  )
  const NO_ROUTE = '404 not_found_error ANTHROPIC_ERR_ROUTE_NOT_FOUND'
  t.equal(await ask('nothing', {}), NO_ROUTE)
  const long = 'x'.repeat(5_000)
  for (const path of [
    `sessions/${long}`,
    `sessions/${long}/events`,
    `sessions/${id}/threads/${long}/archive`
  ])
    t.equal(await ask(path, {}), NO_ROUTE)
  for (const path of ['agents', 'environments', 'files', 'deployments', 'deployment_runs'])
    t.equal(await ask(`${path}/${long}`, {}), NO_ROUTE)
  t.equal((await client.beta.sessions.list()).data.length, 1, 'what was refused began no session')
  t.ok(origin)
})

t.test('answers: of another kind, to nothing, of another session, and to what is not there', async (t) => {
  const { client } = await sessionsApp(t, {
    add: (registry) =>
      new Agent({
        name: 'mailer',
        model: scriptedModel([callsOf(['send', { to: 'ann' }]), callsOf(['send', { to: 'bob' }])]),
        registry,
        tools: [send]
      })
  })
  const { events, create } = { events: client.beta.sessions.events, create: () => begin(client) }
  const [one, other] = [await create(), await create()]
  const asked = (await untilIdle(client, one)).at(-1)!
  if (asked.type !== 'session.status_idle' || asked.stop_reason.type !== 'requires_action')
    throw new Error('no wait')
  const [tool_use_id] = asked.stop_reason.event_ids
  const confirm = (id: string, about: string) =>
    refusalOf(
      events.send(id, { events: [{ type: 'user.tool_confirmation', tool_use_id: about, result: 'allow' }] })
    )
  t.equal(await confirm(other, tool_use_id!), '400 ANTHROPIC_ERR_NOT_ASKED', 'of another session')
  t.equal(await confirm(one, 'sevt_none_1_use'), '400 ANTHROPIC_ERR_NOT_ASKED')
  t.equal(await confirm(one, 'nothing'), '400 ANTHROPIC_ERR_NOT_ASKED')
  const result = events.send(one, {
    events: [{ type: 'user.custom_tool_result', custom_tool_use_id: tool_use_id! }]
  })
  t.equal(await refusalOf(result), '400 ANTHROPIC_ERR_NOT_ASKED', 'of another kind')
  const own = events.send(one, { events: [{ type: 'user.tool_result', tool_use_id: tool_use_id! }] })
  t.equal(await refusalOf(own), '400 ANTHROPIC_ERR_BAD_REQUEST')
  const mixed = events.send(one, {
    events: [
      { type: 'user.tool_confirmation', tool_use_id: tool_use_id!, result: 'allow' },
      { type: 'user.tool_confirmation', tool_use_id: 'nothing', result: 'allow' }
    ]
  })
  t.equal(await refusalOf(mixed), '400 ANTHROPIC_ERR_NOT_ASKED')
  const twice = events.send(one, {
    events: [
      { type: 'user.tool_confirmation', tool_use_id: tool_use_id!, result: 'allow' },
      { type: 'user.tool_confirmation', tool_use_id: tool_use_id!, result: 'deny' }
    ]
  })
  t.equal(await refusalOf(twice), '400 ANTHROPIC_ERR_ANSWERED', 'twice in one request')
  t.equal(await confirm(one, tool_use_id!), 'not refused', 'a request that is refused has done nothing')
})

t.test('sessions and threads of others are not found', async (t) => {
  const { connect } = await sessionsApp(t, { runnables: [parrot], engine: { authenticate } })
  const [ann, bob] = [connect({ apiKey: 'ann' }), connect({ apiKey: 'bob' })]
  const { id } = await ann.beta.sessions.create({
    agent: 'parrot',
    environment_id,
    initial_events: [say('Hi')]
  })
  t.same((await bob.beta.sessions.list()).data, [])
  const MISSING = '404 RUN_ERR_SESSION_NOT_FOUND'
  const { sessions } = bob.beta
  t.equal(await refusalOf(sessions.retrieve(id)), MISSING)
  t.equal(await refusalOf(sessions.events.list(id)), MISSING)
  t.equal(await refusalOf(sessions.events.stream(id)), MISSING)
  t.equal(await refusalOf(sessions.events.send(id, { events: [say('Hi')] })), MISSING)
  t.equal(await refusalOf(sessions.threads.list(id)), MISSING)
  t.equal(await refusalOf(sessions.archive(id)), MISSING)
  t.equal(await refusalOf(sessions.delete(id)), MISSING)
  t.equal((await ann.beta.sessions.retrieve(id)).id, id)
})

t.test('cursors of other lists', async (t) => {
  const { client } = await sessionsApp(t, { runnables: [parrot] })
  const { sessions } = client.beta
  const { id } = await sessions.create({ agent: 'parrot', environment_id, initial_events: [say('Hi')] })
  await untilIdle(client, id)
  const { next_page: page } = await sessions.events.list(id, { limit: 1 })
  t.ok(page)
  const BAD = '400 ANTHROPIC_ERR_BAD_PAGE'
  t.equal(await refusalOf(sessions.list({ page })), BAD)
  t.equal(await refusalOf(sessions.threads.list(id, { page })), BAD)
  t.equal(await refusalOf(sessions.events.list(id, { page, order: 'desc' })), BAD)
  t.equal(await refusalOf(sessions.events.list(id, { page: 'nothing' })), BAD)
})

t.test('the API key of a client is never a key for a model', async (t) => {
  const keys: unknown[] = []
  const model = scriptedModel(['Hello'])
  const { connect } = await sessionsApp(t, {
    add: (registry) =>
      new Agent({
        name: 'keyed',
        model: ({ apiKey }: { apiKey?: unknown }) => {
          keys.push(apiKey)
          return model
        },
        registry
      } as never)
  })
  const client = connect({ defaultHeaders: { 'x-api-key': 'a token' } })
  const { id } = await client.beta.sessions.create({
    agent: 'keyed',
    environment_id,
    initial_events: [say('Hi')]
  })
  await untilIdle(client, id)
  t.same(keys, [undefined])
})

async function begin(client: Parameters<typeof untilIdle>[0]): Promise<string> {
  const { id } = await client.beta.sessions.create({
    agent: 'mailer',
    environment_id,
    initial_events: [say('Go')]
  })
  return id
}

t.test('messages of one request are accepted all or none', async (t) => {
  const { promise: isOver, resolve: end } = Promise.withResolvers<void>()
  const slow = defineRunnable({
    kind: 'agent',
    name: 'slow',
    async *stream() {
      await isOver
      yield { type: 'text', text: 'Done.' }
    }
  })
  const { connect } = await sessionsApp(t, {
    runnables: [slow],
    options: { authenticate: authenticate as never },
    engine: { limits: { maxRunsPerOwner: 2 } }
  })
  const client = connect({ apiKey: 'ada' })
  const { sessions } = client.beta
  const { events } = sessions
  const { id } = await sessions.create({ agent: 'slow', environment_id })
  const send = (count: number) =>
    events.send(id, { events: Array.from({ length: count }, () => say('Hi')) as never[] })
  t.equal(await refusalOf(send(3)), '429 RUN_ERR_TOO_MANY_RUNS')
  t.same(await readAll(events.list(id)), [], 'none of them was accepted')
  t.equal((await send(2)).data!.length, 2)
  t.equal(await refusalOf(send(1)), '429 RUN_ERR_TOO_MANY_RUNS')
  end()
  await untilIdle(client, id, 2)
})

t.test('a system prompt that a session cannot keep is refused with the limit', async (t) => {
  const { client } = await sessionsApp(t, { runnables: [talkingRunnable()] })
  const begin = (system: string) =>
    client.beta.sessions.create({
      agent: { type: 'agent_with_overrides', id: 'talk', system },
      environment_id
    })
  const err = await begin('x'.repeat(100_000)).catch((refused: Error) => refused)
  t.match(err, {
    status: 400,
    message: /agent\.system and agent\.tools: a session keeps at most 65,536 bytes/
  })
  t.match(await begin('x'.repeat(60_000)), { type: 'session' })
})
