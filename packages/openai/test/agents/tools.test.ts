import { createInProcessStores } from '@svc/registry'
import type OpenAI from 'openai'
import type { AgentSession, AgentSessionEvent } from 'openai/resources/beta/agents/agents'
import t from 'tap'
import { locate, promptOf, supportAgent } from '../helpers/agents.ts'
import { agentsApp, collect, refusalOf, until } from './helpers/agents-app.ts'

const environment = { type: 'none' } as const
const { type, name, description, parameters } = locate
const tool = { type, name, description, parameters } as const
type Sessions = OpenAI['beta']['agents']['sessions']

const waits = (session: AgentSession) => session.status === 'requires_action'
const isIdle = (session: AgentSession) => session.status === 'idle'
const send = (sessions: Sessions, id: string, ...events: object[]) =>
  sessions.events.create(id, { events: events as never[] })
const say = (text: string) => ({
  type: 'agent.session.input.message',
  input: [{ role: 'user', content: [{ type: 'input_text', text }] }]
})

t.test('the handlers of the SDK serve the functions of a session', async (t) => {
  const { add, model } = supportAgent([
    { text: 'Let me see', toolCalls: [{ toolName: 'locate', args: { exact: true }, toolCallId: 'c1' }] },
    'You are here',
    { toolCalls: [{ toolName: 'locate', args: {}, toolCallId: 'c1' }] },
    'Or not'
  ] as never)
  const { client } = await agentsApp(t, { add })
  const { sessions } = client().beta.agents
  const asked: unknown[] = []
  const handler = (args: object) => {
    asked.push(args)
    return { place: 'here' }
  }
  const stream = await sessions.create({
    agent_id: 'support',
    agent: { tools: [tool] },
    environment,
    input: 'Where am I?',
    stream: true,
    toolHandlers: { locate: handler as never }
  })
  const result = await stream.finalResult()
  t.same(asked, [{ exact: true }])
  t.same(
    result.messages.map(({ content }) => content[0]?.text),
    ['You are here']
  )
  const { session_id: id } = result.turn
  t.match((await sessions.retrieve(id)).agent.tools, [{ type: 'function', name: 'locate' }])
  const items = await collect(sessions.items.list(id, { order: 'asc' }))
  t.match(items, [
    { type: 'message', role: 'user' },
    { type: 'message', phase: 'commentary' },
    { type: 'function_call', call_id: 'c1', name: 'locate', arguments: { exact: true }, status: 'completed' },
    { type: 'function_call_output', call_id: 'c1', output: '{"place":"here"}', status: 'completed' },
    { type: 'message', phase: 'final_answer' }
  ])

  const failing = sessions.stream(id, {
    input: 'Really?',
    toolHandlers: {
      locate() {
        throw new Error('no')
      }
    }
  })
  t.equal((await failing.finalResult()).messages[0]?.content[0]?.text, 'Or not')
  t.match(promptOf(model.calls[3]!).at(-1), '')
  const last = await collect(sessions.items.list(id, { limit: 2 }))
  t.match(last, [
    { type: 'message' },
    { type: 'function_call_output', output: '{"error":"Tool handler failed."}' }
  ])
})

t.test('a call that is answered elsewhere, twice, or for another turn', async (t) => {
  const call = { toolCalls: [{ toolName: 'locate', args: {}, toolCallId: 'c1' }] }
  const { add } = supportAgent([call, 'Here', call, 'There'] as never)
  const { client } = await agentsApp(t, { add })
  const { sessions } = client().beta.agents
  const { id } = await sessions.create({
    agent_id: 'support',
    agent: { tools: [tool] },
    environment,
    input: 'Where?'
  })
  const { required_actions: actions } = await until(() => sessions.retrieve(id), waits)
  t.match(actions, [{ type: 'function_call', call_id: 'c1', name: 'locate', arguments: {} }])
  const [{ turn_id: turnId }] = actions as unknown as [{ turn_id: string }]
  t.equal((await sessions.turns.retrieve(turnId, { session_id: id })).status, 'waiting')
  const answer = { type: 'agent.session.input.tool_result', turn_id: turnId, call_id: 'c1', success: true }
  t.match(await refusalOf(send(sessions, id, { ...answer, turn_id: 'none', output: 'x' })), { status: 404 })
  t.match(await refusalOf(send(sessions, id, { ...answer, call_id: 'c2', output: 'x' })), {
    status: 400,
    code: 'invalid_request_error',
    message: /Unknown pending tool call: c2/
  })
  const other = await sessions.create({ agent_id: 'support', environment })
  t.match(await refusalOf(send(sessions, other.id, { ...answer, output: 'x' })), { status: 404 })
  t.match(await refusalOf(send(sessions, id, { ...answer, output: 'x'.repeat(300_000) })), { status: 400 })
  await send(sessions, id, { ...answer, output: 'home' })
  await until(() => sessions.retrieve(id), isIdle)
  await send(sessions, id, { ...answer, output: 'home' })
  t.match(await refusalOf(send(sessions, id, { ...answer, output: 'other' })), {
    status: 400,
    message: /Unknown pending tool call: c1/
  })
  await send(sessions, id, say('And now?'))
  const later = await until(() => sessions.retrieve(id), waits)
  const [next] = later.required_actions as unknown as [{ turn_id: string; call_id: string }]
  const quoted = { ...answer, turn_id: next.turn_id, call_id: next.call_id, output: '"away"' }
  await send(sessions, id, quoted)
  await until(() => sessions.retrieve(id), isIdle)
  await send(sessions, id, quoted)
})

t.test('approvals are required actions, and calls of the service have their output', async (t) => {
  const call = { toolName: 'send', args: { to: 'ada' }, toolCallId: 's1' }
  const { add } = supportAgent([{ toolCalls: [call] }, 'Sent', { toolCalls: [call] }, 'Not sent'] as never)
  const { client } = await agentsApp(t, { add })
  const { sessions } = client().beta.agents
  const { id } = await sessions.create({ agent_id: 'support', environment })
  const stream = await sessions.events.stream(id)
  const events: AgentSessionEvent[] = []
  const reading = (async () => {
    for await (const event of stream) {
      events.push(event)
      if (event.type === 'agent.session.idle') break
    }
  })()
  await send(sessions, id, say('Send it'))
  const { required_actions: actions } = await until(() => sessions.retrieve(id), waits)
  t.match(actions, [
    {
      type: 'mcp_approval_request',
      request: { type: 'mcp_tool_call', name: 'send', arguments: { to: 'ada' } }
    }
  ])
  const [{ request_id: requestId }] = actions as unknown as [{ request_id: string }]
  const answer = (decision: string, request_id: string) => ({
    type: 'agent.session.input.mcp_approval_request_result',
    request_id,
    response: { type: 'mcp_tool_call', decision }
  })
  t.match(await refusalOf(send(sessions, id, answer('maybe', requestId))), { status: 400 })
  t.match(await refusalOf(send(sessions, id, answer('approve', 'none'))), { status: 400 })
  await send(sessions, id, answer('approve', requestId))
  await reading
  const states = events.filter((event) => 'session' in event).map((event) => event.type)
  t.same(
    states.map((state) => state.replace('agent.session.', '')),
    ['in_progress', 'requires_action', 'in_progress', 'idle']
  )
  t.match(
    events.find((event) => event.type === 'agent.session.requires_action'),
    { session: { required_actions: actions } }
  )
  const items = await collect(sessions.items.list(id, { order: 'asc' }))
  t.match(items[1], {
    type: 'mcp_call',
    server_label: 'support',
    name: 'send',
    status: 'completed',
    error: null
  })

  await send(sessions, id, answer('approve', requestId))
  t.match(await refusalOf(send(sessions, id, answer('deny', requestId))), { status: 400 })
  await send(sessions, id, say('Again'))
  const again = await until(() => sessions.retrieve(id), waits)
  await send(sessions, id, answer('deny', (again.required_actions[0] as { request_id: string }).request_id))
  await until(() => sessions.retrieve(id), isIdle)
  const [, denied] = await collect(sessions.items.list(id, { limit: 2 }))
  t.match(denied, { type: 'mcp_call', status: 'failed', error: { code: 'RUN_ERR_APPROVAL_DENIED' } })
})

t.test('an approval that is answered by canceling its turn cancels no other one', async (t) => {
  const call = { toolName: 'send', args: { to: 'ada' } }
  // The model may be asked once more before the turn is canceled.
  const { add } = supportAgent(Array.from({ length: 4 }, () => ({ toolCalls: [call] })))
  const { client } = await agentsApp(t, { add })
  const { sessions } = client().beta.agents
  const { id } = await sessions.create({ agent_id: 'support', environment, input: 'Send it' })
  const asked = async () => {
    const { required_actions: actions } = await until(() => sessions.retrieve(id), waits)
    return (actions[0] as { request_id: string }).request_id
  }
  const cancel = {
    type: 'agent.session.input.mcp_approval_request_result',
    request_id: await asked(),
    response: { type: 'mcp_tool_call', decision: 'cancel' }
  }
  await send(sessions, id, cancel)
  await until(() => sessions.retrieve(id), isIdle)
  t.match((await sessions.turns.list(id)).data, [{ status: 'cancelled' }])
  await send(sessions, id, say('Again'))
  const second = await asked()
  await send(sessions, id, cancel)
  t.equal(await asked(), second, 'the answer came again, and the next turn still waits')
})

t.test('an answer that two clients give at once is taken from both', async (t) => {
  const { add } = supportAgent([
    { toolCalls: [{ toolName: 'locate', args: {}, toolCallId: 'c1' }] },
    { toolCalls: [{ toolName: 'send', args: { to: 'ada' }, toolCallId: 's1' }] },
    'Done'
  ] as never)
  const stores = createInProcessStores()
  const waiting = new Map<string, () => void>()
  // Of two answers to an input, the first one counts only when the second has come this far.
  const answerInput: typeof stores.runs.answerInput = async (...given) => {
    const rival = waiting.get(given[1])
    rival?.()
    if (rival === undefined) await new Promise<void>((resolve) => waiting.set(given[1], resolve))
    return stores.runs.answerInput(...given)
  }
  const engine = { stores: { ...stores, runs: { ...stores.runs, answerInput } } }
  const { client } = await agentsApp(t, { add, engine })
  const { sessions } = client().beta.agents
  const { id } = await sessions.create({
    agent_id: 'support',
    agent: { tools: [tool] },
    environment,
    input: 'Where?'
  })
  const call = (await until(() => sessions.retrieve(id), waits)).required_actions[0] as { turn_id: string }
  const result = {
    type: 'agent.session.input.tool_result',
    turn_id: call.turn_id,
    call_id: 'c1',
    success: true,
    output: '{"place":"home"}'
  }
  await Promise.all([send(sessions, id, result), send(sessions, id, result)])
  const { required_actions: actions } = await until(
    () => sessions.retrieve(id),
    ({ required_actions: [action] }) => action?.type === 'mcp_approval_request'
  )
  const approval = {
    type: 'agent.session.input.mcp_approval_request_result',
    request_id: (actions[0] as { request_id: string }).request_id,
    response: { type: 'mcp_tool_call', decision: 'approve' }
  }
  await Promise.all([send(sessions, id, approval), send(sessions, id, approval)])
  await until(() => sessions.retrieve(id), isIdle)
  t.equal((await sessions.turns.list(id)).data[0]!.status, 'completed')
})

t.test('a question is a call of ask_user where the client declares it', async (t) => {
  const call = { toolName: 'ask', args: { what: 'size' }, toolCallId: 'a1' }
  const { add } = supportAgent([{ toolCalls: [call] }, 'Large', { toolCalls: [call] }, 'None'] as never)
  const { client } = await agentsApp(t, { add })
  const { sessions } = client().beta.agents
  const declared = { ...tool, name: 'ask_user' }
  const stream = await sessions.create({
    agent_id: 'support',
    agent: { tools: [declared] },
    environment,
    input: 'Order',
    stream: true,
    toolHandlers: { ask_user: (({ message }: { message: string }) => `large (${message})`) as never }
  })
  const result = await stream.finalResult()
  const { session_id: id } = result.turn
  const items = await collect(sessions.items.list(id, { order: 'asc' }))
  t.match(items.slice(1, 4), [
    { type: 'mcp_call', name: 'ask', output: 'chose large (Which size?)' },
    { type: 'function_call', name: 'ask_user', arguments: { message: 'Which size?' } },
    { type: 'function_call_output', output: 'large (Which size?)' }
  ])
  await sessions.update(id, { agent: { tools: [] } })
  await send(sessions, id, say('Again'))
  const { required_actions: actions } = await until(() => sessions.retrieve(id), waits)
  t.match(actions, [{ type: 'function_call', name: 'ask_user', arguments: { message: 'Which size?' } }])
  const [{ call_id: callId, turn_id: turnId }] = actions as unknown as [{ call_id: string; turn_id: string }]
  await send(sessions, id, {
    type: 'agent.session.input.tool_result',
    call_id: callId,
    turn_id: turnId,
    success: false
  })
  await until(() => sessions.retrieve(id), isIdle)
  t.match(await collect(sessions.items.list(id, { limit: 2 })), [
    { type: 'message' },
    { type: 'mcp_call', output: 'no choice' }
  ])
})

t.test('a message during a turn joins it, and a cancellation ends it', async (t) => {
  const { add, model } = supportAgent([
    { toolCalls: [{ toolName: 'locate', args: {}, toolCallId: 'c1' }] },
    'Both',
    { hangs: 'stream' }
  ] as never)
  const { client } = await agentsApp(t, { add })
  const { sessions } = client().beta.agents
  const { id } = await sessions.create({
    agent_id: 'support',
    agent: { tools: [tool] },
    environment,
    input: 'One'
  })
  const { required_actions: actions } = await until(() => sessions.retrieve(id), waits)
  const [{ turn_id: turnId }] = actions as unknown as [{ turn_id: string }]
  await send(sessions, id, say('Two'))
  await send(sessions, id, {
    type: 'agent.session.input.tool_result',
    turn_id: turnId,
    call_id: 'c1',
    success: true,
    output: [{ type: 'input_text', text: 'here' }]
  })
  await until(() => sessions.retrieve(id), isIdle)
  t.equal((await sessions.turns.list(id)).data.length, 1)
  t.ok(promptOf(model.calls[1]!).includes('Two'))
  const said = (await collect(sessions.items.list(id, { order: 'asc' }))).filter(
    (item) => item.type === 'message' && item.role === 'user'
  )
  t.match(said, [{ content: [{ text: 'One' }] }, { content: [{ text: 'Two' }] }])

  await send(sessions, id, say('Three'))
  await until(
    () => sessions.retrieve(id),
    (session) => session.status === 'in_progress'
  )
  await send(sessions, id, { type: 'agent.session.input.cancel' })
  await until(() => sessions.retrieve(id), isIdle)
  t.equal((await sessions.turns.list(id)).data[0]!.status, 'cancelled')
  await send(sessions, id, { type: 'agent.session.input.cancel' })
})
