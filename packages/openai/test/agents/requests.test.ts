import type { SessionCreateParamsNonStreaming } from 'openai/resources/beta/agents/sessions/sessions'
import t from 'tap'
import { supportAgent } from '../helpers/agents.ts'
import { agentsApp, refusalOf } from './helpers/agents-app.ts'

const environment = { type: 'none' } as const
const BETA = { 'openai-beta': 'agents=v1' }

t.test('requests of another revision, or of none, are refused', async (t) => {
  const { add } = supportAgent('Hello')
  const { app } = await agentsApp(t, { add })
  for (const headers of [{}, { 'openai-beta': 'agents=v2' }, { 'openai-beta': 'assistants=v2' }]) {
    const reply = await app.inject({ url: '/v1/agents/sessions', headers })
    t.match(
      [reply.statusCode, reply.json()],
      [400, { error: { code: 'OPENAI_ERR_BETA', type: 'invalid_request_error' } }]
    )
  }
  const both = await app.inject({ url: '/v1/agents/sessions', headers: { 'openai-beta': 'x=v1, agents=v1' } })
  t.equal(both.statusCode, 200)
  t.equal((await app.inject('/v1/agents/openapi.json')).statusCode, 200)
})

t.test('what cannot be served is refused with an error of the protocol', async (t) => {
  const { add } = supportAgent('Hello')
  const { app, client } = await agentsApp(t, { add })
  const { agents } = client().beta
  const { sessions } = agents
  const create = (more: object) =>
    refusalOf(sessions.create({ agent_id: 'support', environment, ...more } as never))
  const cases: [more: object, status: number, message: RegExp][] = [
    [{ agent_id: undefined, agent: { model: 'gpt-5' } }, 400, /agent_id is required/],
    [{ agent_id: 'nobody' }, 404, /"nobody" does not exist/],
    [{ environment: { type: 'openai_hosted' } }, 400, /environments other than/],
    [{ agent: { model: 'gpt-5' } }, 400, /agent.model/],
    [{ agent: { reasoning: { effort: 'high' } } }, 400, /agent.reasoning/],
    [{ agent: { multi_agent: { enabled: true } } }, 400, /agent.multi_agent/],
    [{ agent: { tools: [{ type: 'web_search' }] } }, 400, /web_search/],
    [{ agent: { tools: [{ type: 'function', name: 'x', async: true }] } }, 400, /async/],
    [{ agent: { text: { verbosity: 'low' } } }, 400, /verbosity/],
    [{ spend_control: { limit: 5 } }, 400, /spend_control/],
    [{ vault_ids: ['v'] }, 400, /vault_ids/],
    [{ review: 'auto_review' }, 400, /review/],
    [
      { metadata: Object.fromEntries(Array.from({ length: 17 }, (_, at) => [`k${at}`, ''])) },
      400,
      /metadata/
    ],
    [{ metadata: { k: 'x'.repeat(513) } }, 400, /metadata/],
    [{ agent: { instructions: 'x'.repeat(100_000) } }, 400, /instructions.* at most 65,536 bytes/],
    [{ stream: true }, 400, /input is required/],
    [{ input: [] }, 400, /input/],
    [{ input: [{ role: 'assistant', content: [{ type: 'output_text', text: 'x' }] }] }, 400, /role/],
    [{ input: [{ role: 'user', content: [{ type: 'input_file' }] }] }, 400, /input_file/],
    [{ surprise: 1 }, 400, /surprise/]
  ]
  for (const [more, status, message] of cases)
    t.match(await create(more), { status, message }, JSON.stringify(more).slice(0, 60))
  t.same((await sessions.list()).data, [], 'what is refused leaves no session')
  const defaults = {
    agent: { model: 'support', reasoning: null, service_tier: 'auto', multi_agent: { enabled: false } },
    spend_control: { limit: null },
    review: 'none',
    vault_ids: [],
    input: null
  }
  const body = { agent_id: 'support', environment, ...defaults } as object as SessionCreateParamsNonStreaming
  const { id } = await sessions.create(body)

  const send = (...events: object[]) => refusalOf(sessions.events.create(id, { events: events as never[] }))
  t.match(await send({ type: 'agent.session.input.dance' }), { status: 400, message: /dance/ })
  t.match(await send({ type: 'agent.session.input.message' }), { status: 400, message: /input is required/ })
  t.match(await send({ type: 'agent.session.input.tool_result', call_id: 'x' }), { status: 400 })
  for (const turn_id of ['', '\n', 'x\ny', '_1_2', '\u0000'])
    t.match(
      await send({ type: 'agent.session.input.tool_result', call_id: 'x', turn_id, success: true }),
      { status: 404, code: 'RUN_ERR_NOT_FOUND' },
      JSON.stringify(turn_id)
    )
  t.match(
    await send({
      type: 'agent.session.input.computer_use_approval_request_result',
      request_id: 'x',
      response: { type: 'y' }
    }),
    { status: 400, message: /computer use/ }
  )
  t.match(await send(), { status: 400 })
  const message = {
    type: 'agent.session.input.message',
    input: [{ role: 'user', content: [{ type: 'input_text', text: 'x' }] }]
  }
  t.match(await send(message, { type: 'agent.session.input.dance' }), { status: 400 })
  t.match(await send(...Array.from({ length: 51 }, () => message)), { status: 400 })
  const large = {
    ...message,
    input: [{ role: 'user', content: [{ type: 'input_text', text: 'x'.repeat(5_000_000) }] }]
  }
  t.match(await send(large), { status: 413 })
  t.same((await sessions.turns.list(id)).data, [], 'no event had an effect')

  for (const read of [
    () => sessions.retrieve('none'),
    () => sessions.items.list('none'),
    () => sessions.events.stream('none'),
    () => sessions.events.create('none', { events: [message] as never[] }),
    () => sessions.turns.retrieve('none', { session_id: id }),
    () => sessions.turns.items.list('none', { session_id: id }),
    () => sessions.subagents.retrieve('sub_none_1', { session_id: id }),
    () => agents.retrieve('nobody')
  ])
    t.match(await refusalOf(read()), { status: 404 })
  for (const list of [sessions.items, sessions.turns, sessions.subagents] as const)
    for (const after of ['none', 'msg_none_1', '../../x'])
      t.match(await refusalOf(list.list(id, { after })), { status: 400, code: 'OPENAI_ERR_BAD_CURSOR' })
  for (const place of ['x', '1.1.1.1', '-1.0']) {
    const headers = { ...BETA, 'last-event-id': place }
    const reply = await app.inject({ url: `/v1/agents/sessions/${id}/events`, headers })
    t.match([reply.statusCode, reply.json()], [400, { error: { code: 'RUN_ERR_BAD_POSITION' } }])
  }
  const gone = await app.inject({ url: `/v1/agents/sessions/${id}/events?after=5.0`, headers: BETA })
  t.match([gone.statusCode, gone.json()], [410, { error: { code: 'RUN_ERR_LOG_GONE' } }])
  t.equal((await app.inject({ url: '/v1/agents/sessions/a/b/c/d', headers: BETA })).statusCode, 404)
})

t.test('sessions of others are not found', async (t) => {
  const { add } = supportAgent('Hello')
  const authenticate = Object.assign(
    async ({ token }: { token?: string }) => ({ sub: token ?? 'nobody', scopes: ['*'] }),
    { schemes: [] }
  )
  const { client } = await agentsApp(t, { add, options: { authenticate: authenticate as never } })
  const mine = client('ada').beta.agents.sessions
  const theirs = client('bob').beta.agents.sessions
  const { id } = await mine.create({ agent_id: 'support', environment })
  t.equal((await mine.retrieve(id)).id, id)
  t.same((await theirs.list()).data, [])
  for (const read of [
    () => theirs.retrieve(id),
    () => theirs.delete(id),
    () => theirs.update(id, { metadata: { a: '1' } }),
    () => theirs.items.list(id),
    () => theirs.events.stream(id),
    () => theirs.events.create(id, { events: [{ type: 'agent.session.input.cancel' }] })
  ])
    t.match(await refusalOf(read()), { status: 404, code: 'RUN_ERR_SESSION_NOT_FOUND' })
})
