import { join } from 'node:path'
import type { Authorize } from '@svc/contract'
import { defineTool, Type } from '@svc/runtime'
import { callsOf, send } from '@tools/wires/agents'
import { findTypeFaults } from '@tools/wires/sdk-types'
import t from 'tap'
import { locate, promptOf, supportAgent } from '../helpers/agents.ts'
import { gatedAgent, until } from '../helpers/gated-agent.ts'
import { openAiApp } from '../helpers/openai-app.ts'
import { ResponseSocket } from '../helpers/response-socket.ts'

interface SocketEvent {
  readonly type: string
  readonly stream_id?: string
  readonly response?: { readonly id: string; readonly status: string; readonly previous_response_id: string }
  readonly steer?: { readonly id?: string; readonly input?: unknown }
  readonly error?: { readonly code: string }
  readonly required_input?: readonly object[]
}

const nextOf = async (socket: ResponseSocket, type: string) => {
  for (;;) {
    const event = (await socket.next()) as SocketEvent | undefined
    if (event === undefined) throw new Error(`closed before ${type}`)
    if (event.type === type) return event
  }
}
const steer = (previous_response_id: unknown, input: unknown = 'Stop') => ({
  type: 'response.steer',
  previous_response_id,
  input
})

t.test('messages for the response under way are delivered by the next one', async (t) => {
  for (const store of [true, false]) {
    const gate = Promise.withResolvers<void>()
    const wait = defineTool({
      name: 'wait',
      description: 'Waits',
      inputSchema: Type.Object({}),
      execute: () => gate.promise.then(() => 'waited')
    })
    const { add, model } = supportAgent([callsOf(['wait', {}]), 'First', 'Second'], { tools: [wait] })
    const { baseURL } = await openAiApp(t, { add })
    const socket = new ResponseSocket(baseURL)
    t.teardown(() => socket.ws.close())
    const body = { model: 'support', store, input: 'One', stream_id: 'main', metadata: { a: 'b' } }
    await socket.send({ type: 'response.create', ...body })
    const { response } = await nextOf(socket, 'response.created')
    const messages = [{ role: 'user', content: [{ type: 'input_text', text: 'Three' }] }]
    await socket.send(steer(response!.id, 'Two'))
    await socket.send(steer(response!.id, messages))
    const accepted = [
      await nextOf(socket, 'response.steer.accepted'),
      await nextOf(socket, 'response.steer.accepted')
    ]
    for (const event of accepted)
      t.match(event, {
        stream_id: 'main',
        sequence_number: 0,
        steer: { id: /^steer_/, previous_response_id: response!.id }
      })
    t.not(accepted[0]!.steer!.id, accepted[1]!.steer!.id)
    gate.resolve()
    t.match(await nextOf(socket, 'response.completed'), { response: { id: response!.id } })
    t.match(await nextOf(socket, 'response.created'), {
      stream_id: 'main',
      response: { previous_response_id: response!.id, metadata: { a: 'b' }, store }
    })
    t.match(await nextOf(socket, 'response.completed'), { stream_id: 'main' })
    t.match(promptOf(model.calls.at(-1)!).join(' '), /One.*First.*Two.*Three/s)

    await socket.send(steer(response!.id))
    t.match(await nextOf(socket, 'response.steer.failed'), {
      steer: { previous_response_id: response!.id, input: 'Stop', id: undefined },
      error: { type: 'invalid_request_error', code: 'response_already_completed' }
    })
  }
})

t.test('messages that are not delivered come back', async (t) => {
  const { agent, gates } = gatedAgent(2)
  const { baseURL } = await openAiApp(t, { runnables: [agent] })
  const socket = new ResponseSocket(baseURL)
  t.teardown(() => socket.ws.close())
  const failure = async (event: object) => {
    await socket.send(event)
    return nextOf(socket, 'response.steer.failed')
  }
  t.match(await failure(steer('resp_x')), { error: { code: 'response_not_found' }, steer: { input: 'Stop' } })

  await socket.send({ type: 'response.create', model: 'gated', input: 'a' })
  const { response } = await nextOf(socket, 'response.created')
  for (const input of [
    null,
    5,
    '',
    [],
    [{ role: 'developer', content: 'Hi' }],
    [{ role: 'user', content: 'Hi', name: 'ann' }],
    [{ role: 'user', content: [{ type: 'input_audio' }] }],
    [{ type: 'function_call_output', call_id: 'c1', output: 'x' }]
  ])
    t.match(
      await failure(steer(response!.id, input)),
      { error: { code: 'invalid_input' }, steer: { previous_response_id: response!.id } },
      JSON.stringify(input)
    )
  t.match(await failure({ ...steer(response!.id), stream_id: 'x' }), { error: { code: 'invalid_input' } })
  t.match(await failure(steer(5)), { error: { code: 'invalid_input' } })
  for (let n = 0; n < 16; n++) {
    await socket.send(steer(response!.id, `${n}`))
    t.match(await nextOf(socket, 'response.steer.accepted'), { steer: { id: /^steer_/ } })
  }
  t.match(await failure(steer(response!.id)), { error: { code: 'too_many_pending_steers' } })

  await socket.send({
    type: 'response.create',
    model: 'gated',
    conversation: 'desk',
    input: 'b',
    stream_id: 'desk'
  })
  const other = await nextOf(socket, 'response.created')
  t.match(await failure(steer(other.response!.id)), {
    stream_id: 'desk',
    error: { code: 'steering_not_supported' }
  })
  await until(() => gates.length === 2)
  socket.ws.close()
})

/** An agent that waits within a tool, and then for the client and its user. */
function waitingAgent(...texts: string[]) {
  const { promise, resolve: go } = Promise.withResolvers<void>()
  const wait = defineTool({
    name: 'wait',
    description: 'Waits',
    inputSchema: Type.Object({}),
    execute: () => promise.then(() => 'waited')
  })
  const asking = callsOf(['locate', {}], ['send', { to: 'ada' }])
  return { ...supportAgent([callsOf(['wait', {}]), asking, ...texts], { tools: [wait, send] }), go }
}
const outputsFor = (required: readonly object[] = []) =>
  required.map((each) => ({ ...each, ...('call_id' in each ? { output: 'Here' } : { approve: true }) }))

t.test('messages for a response that waits come after the response that continues it', async (t) => {
  const { add, model, go } = waitingAgent('First', 'Second')
  const { baseURL } = await openAiApp(t, { add })
  const socket = new ResponseSocket(baseURL)
  t.teardown(() => socket.ws.close())
  const body = { model: 'support', tools: [locate], stream_id: 'main' }
  await socket.send({ type: 'response.create', ...body, input: 'One' })
  const { response } = await nextOf(socket, 'response.created')
  const steers: SocketEvent['steer'][] = []
  for (const input of ['Two', 'Three']) {
    await socket.send(steer(response!.id, input))
    steers.push((await nextOf(socket, 'response.steer.accepted')).steer)
  }
  go()
  t.match(await nextOf(socket, 'response.completed'), { response: { id: response!.id } })
  const pending = [
    await nextOf(socket, 'response.steer.pending'),
    await nextOf(socket, 'response.steer.pending')
  ]
  const [{ required_input: required }] = pending as [SocketEvent]
  for (const [at, event] of pending.entries())
    t.match(event, {
      stream_id: 'main',
      sequence_number: 1,
      reason: 'waiting_for_required_input',
      steer: steers[at],
      required_input: [
        { type: 'function_call_output', call_id: String, name: 'locate' },
        { type: 'mcp_approval_response', approval_request_id: String }
      ]
    })
  t.equal(
    await findTypeFaults(
      { ResponseSteerPendingEvent: pending },
      ["import type { ResponseSteerPendingEvent } from 'openai/resources/responses/responses'"],
      join(t.testdir(), 'pending.ts')
    ),
    ''
  )
  const [output] = outputsFor(required)
  const continued = { type: 'response.create', ...body, previous_response_id: response!.id }
  await socket.send({ ...continued, input: [output] })
  t.match(await nextOf(socket, 'error'), { error: { code: 'OPENAI_ERR_UNANSWERED' } }, 'they still wait')

  await socket.send({ ...continued, input: outputsFor(required), metadata: { own: 'settings' } })
  const second = await nextOf(socket, 'response.created')
  t.match(second, { response: { previous_response_id: response!.id } })
  await nextOf(socket, 'response.completed')
  t.match(await nextOf(socket, 'response.created'), {
    stream_id: 'main',
    response: { previous_response_id: second.response!.id, metadata: { own: 'settings' } }
  })
  await nextOf(socket, 'response.completed')
  t.match(promptOf(model.calls.at(-1)!).join(' '), /One.*First.*Two.*Three/s)
  t.equal(socket.received.filter(({ type }) => type.startsWith('response.steer')).length, 4)
})

t.test('messages for a response that waits come back where what continues it fails', async (t) => {
  const { add, go } = waitingAgent()
  const { baseURL } = await openAiApp(t, { add })
  const socket = new ResponseSocket(baseURL)
  t.teardown(() => socket.ws.close())
  const body = { model: 'support', tools: [locate] }
  await socket.send({ type: 'response.create', ...body, input: 'One' })
  const { response } = await nextOf(socket, 'response.created')
  await socket.send(steer(response!.id, 'Two'))
  const { steer: accepted } = await nextOf(socket, 'response.steer.accepted')
  go()
  const { required_input: required } = await nextOf(socket, 'response.steer.pending')
  await socket.send({
    type: 'response.create',
    ...body,
    previous_response_id: response!.id,
    input: outputsFor(required)
  })
  await nextOf(socket, 'response.failed')
  t.match(await nextOf(socket, 'response.steer.failed'), {
    sequence_number: 2,
    steer: { id: accepted!.id, input: 'Two' },
    error: { code: 'response_not_active' }
  })
})

t.test('messages that wait take a bounded amount of memory', async (t) => {
  const { agent, gates } = gatedAgent(2)
  const { baseURL } = await openAiApp(t, { runnables: [agent], options: { bodyLimit: 4_000 } })
  const socket = new ResponseSocket(baseURL)
  t.teardown(() => socket.ws.close())
  const large = 'x'.repeat(1_500)
  const ids: string[] = []
  for (const stream_id of ['a', 'b']) {
    await socket.send({ type: 'response.create', model: 'gated', input: stream_id, stream_id })
    ids.push((await nextOf(socket, 'response.created')).response!.id)
    await socket.send(steer(ids.at(-1), large))
    await nextOf(socket, 'response.steer.accepted')
  }
  await socket.send(steer(ids[1], large))
  t.match(await nextOf(socket, 'response.steer.failed'), { error: { code: 'too_many_pending_steers' } })
  await until(() => gates.length === 2)
  gates[0]!()
  t.match(await nextOf(socket, 'response.completed'), { stream_id: 'a' })
  await until(() => gates.length === 3)
  gates[2]!()
  t.match(await nextOf(socket, 'response.completed'), { stream_id: 'a' }, 'the message was delivered')
  await socket.send(steer(ids[1], large))
  await nextOf(socket, 'response.steer.accepted')
  gates[1]!()
  await until(() => gates.length === 4)
})

t.test('a next response that cannot be created returns its messages', async (t) => {
  const { agent, gates } = gatedAgent()
  let isAllowed = true
  const authorize: Authorize = () => ({ allowed: isAllowed })
  const { baseURL } = await openAiApp(t, { runnables: [agent], engine: { authorize } })
  const socket = new ResponseSocket(baseURL)
  t.teardown(() => socket.ws.close())
  await socket.send({ type: 'response.create', model: 'gated', input: 'a' })
  const { response } = await nextOf(socket, 'response.created')
  await socket.send(steer(response!.id, 'More'))
  const { steer: accepted } = await nextOf(socket, 'response.steer.accepted')
  await until(() => gates.length === 1)
  isAllowed = false
  gates[0]!()
  await nextOf(socket, 'response.completed')
  t.match(await nextOf(socket, 'response.steer.failed'), {
    steer: { id: accepted!.id, input: 'More' },
    error: { code: 'successor_creation_failed' }
  })
})
