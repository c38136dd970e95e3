import { defineTool } from '@svc/runtime'
import { decodeTones } from '../../src/testing/tone-codec.ts'
import { Type } from '@sinclair/typebox'
import t from 'tap'
import { cutUpstream } from '../helpers/realtime/cut-upstream.ts'
import { ANSWERS, echo } from '../helpers/realtime/echo.ts'
import { RealtimeCall, type RealtimeCallOptions } from '../helpers/realtime/realtime-call.ts'
import { startRealtimeServer, type RealtimeServerOptions } from '../helpers/realtime/realtime-server.ts'
import type { Reply, WireEvent } from '../helpers/realtime/served-connection.ts'

const join = (pieces: readonly Int16Array[]) => Int16Array.from(pieces.flatMap((piece) => [...piece]))

/** A call of three turns; returns it with its server. */
async function callThree(
  t: { teardown(fn: () => unknown): void },
  server: Partial<RealtimeServerOptions>,
  options?: RealtimeCallOptions
) {
  const upstream = await startRealtimeServer(t, { reply: echo, ...server })
  const call = await RealtimeCall.open(t, upstream.model, options)
  for (const word of ['one', 'two', 'three']) await call.ask(word)
  return { call, upstream }
}

t.test('a connection that is cut after any event costs no turn', async (t) => {
  const whole = await callThree(t, {})
  let count = 0
  await callThree(t, { tamper: (event) => (count++, [event]) })
  t.equal(whole.upstream.connections.length, 1)
  for (let at = 1; at < count; at++) {
    let sent = 0
    const { call, upstream } = await callThree(t, {
      tamper: (event) => (sent++ === at ? 'cut' : [event])
    })
    t.same(call.questions, ['one', 'two', 'three'], `questions after a cut at event ${at}`)
    t.same(call.answers, ANSWERS, `answers after a cut at event ${at}`)
    t.equal(upstream.connections.length, 2)
    call.close()
  }
})

t.test('a connection that is cut at any event of the client costs no turn', async (t) => {
  for (const type of [
    'session.update',
    'input_audio_buffer.append',
    'response.create',
    'conversation.item.create'
  ])
    for (const nth of [1, 2, 3]) {
      let taken = 0
      const { call } = await callThree(t, {
        receive: (event) => (event.type === type && ++taken === nth ? 'cut' : true)
      })
      t.same(call.answers, ANSWERS, `${type} ${nth}`)
      call.close()
    }
})

t.test('doubled, unknown and malformed events change nothing', async (t) => {
  const { call } = await callThree(t, {
    tamper: (event) => [
      '{',
      'null',
      '[]',
      '"text"',
      Buffer.from([0xff, 0, 1]),
      `${'['.repeat(20_000)}${']'.repeat(20_000)}`,
      { type: 'response.output_audio.delta' },
      { type: 'response.output_audio_transcript.delta', response_id: 'x', item_id: 7, delta: null },
      { type: 'response.function_call_arguments.done', response_id: 'x', call_id: 'c' },
      { type: 'rate_limits.updated', rate_limits: [] },
      { type: 'toString' },
      { type: 'error', error: null },
      event,
      event
    ]
  })
  t.same(call.answers, ANSWERS)
  t.same(call.questions, ['one', 'two', 'three'])
  t.equal(decodeTones(join(call.audio), 24_000), ANSWERS.join(' '))
})

t.test('binary frames are read as text', async (t) => {
  const { call } = await callThree(t, { tamper: (event) => [Buffer.from(JSON.stringify(event))] })
  t.same(call.answers, ANSWERS)
})

t.test('events may be unordered where they name what they belong to', async (t) => {
  const held = new Map<string, WireEvent>()
  const later: Record<string, string> = {
    'input_audio_buffer.speech_started': 'input_audio_buffer.committed',
    'input_audio_buffer.speech_stopped': 'response.done',
    'response.created': 'response.output_item.done',
    'conversation.item.input_audio_transcription.completed': 'response.done'
  }
  const { call } = await callThree(t, {
    tamper(event) {
      const until = later[event.type]
      if (until !== undefined) {
        held.set(until + event.type, event)
        return []
      }
      const due = [...held].filter(([key]) => key.startsWith(event.type))
      for (const [key] of due) held.delete(key)
      return [event, ...due.map(([, each]) => each)]
    }
  })
  t.same(call.answers, ANSWERS)
  t.same(call.questions, ['one', 'two', 'three'])
})

t.test('late events of an ended response are ignored', async (t) => {
  const earlier: WireEvent[] = []
  const { call } = await callThree(t, {
    tamper(event) {
      if (event.type === 'response.created') return [event, ...earlier.splice(0)]
      if (/^response\.(output_audio|function)/.test(event.type))
        earlier.push({ ...event, event_id: `late_${earlier.length}` })
      return [event]
    }
  })
  t.same(call.answers, ANSWERS)
})

t.test('a response that begins by itself is the answer to its turn', async (t) => {
  const upstream = await startRealtimeServer(t, { reply: echo, respondsByItself: true })
  const call = await RealtimeCall.open(t, upstream.model)
  for (const word of ['one', 'two', 'three']) await call.ask(word)
  t.same(call.answers, ANSWERS)
})

t.test('a refused handshake is retried if that may help', async (t) => {
  const status = [503, 429, 101]
  const { call, upstream } = await callThree(t, { handshake: (index) => status[index] ?? 101 })
  t.same(call.answers, ANSWERS)
  t.equal(upstream.handshakes, 3)
})

const refuseSetup: NonNullable<RealtimeServerOptions['tamper']> = (event) =>
  event.type === 'session.updated'
    ? [
        {
          type: 'error',
          error: { type: 'invalid_request_error', code: 'bad_value', message: 'secret', event_id: 'setup' }
        }
      ]
    : [event]

const refuseKey: NonNullable<RealtimeServerOptions['tamper']> = (_event, connection) => {
  setImmediate(() => connection.close(3000))
  return [
    { type: 'error', error: { type: 'invalid_request_error', code: 'invalid_api_key', message: 'sk-secret' } }
  ]
}

const closePolicy: NonNullable<RealtimeServerOptions['tamper']> = (_event, connection) => {
  connection.close(1008)
  return []
}

t.test('a call does not begin without a session', async (t) => {
  const cases: readonly (readonly [string, Partial<RealtimeServerOptions>])[] = [
    ['RUN_ERR_MODEL_AUTH', { handshake: () => 401 }],
    ['RUN_ERR_MODEL_REFUSED', { handshake: () => 404 }],
    ['RUN_ERR_MODEL_FAILED', { handshake: () => 500 }],
    ['RUN_ERR_MODEL_UNREACHABLE', { receive: () => false }],
    ['RUN_ERR_MODEL_UNREACHABLE', { receive: () => 'cut' }],
    ['RUN_ERR_MODEL_REFUSED', { tamper: refuseSetup }],
    ['RUN_ERR_MODEL_AUTH', { tamper: refuseKey }],
    ['RUN_ERR_MODEL_REFUSED', { tamper: closePolicy }]
  ]
  for (const [code, options] of cases) {
    const upstream = await startRealtimeServer(t, { reply: echo, ...options })
    const opening = RealtimeCall.open(t, upstream.model, { times: { connect: 100 } })
    await t.rejects(opening, { code }, code)
  }
})

t.test('an answer that the model fails at is retried if that may help', async (t) => {
  let fails: Reply['fails'] = { type: 'server_error', code: 'rate_limit_exceeded' }
  const upstream = await startRealtimeServer(t, {
    reply(asked) {
      const reply = fails ? { fails } : echo(asked)
      fails = undefined
      return reply
    }
  })
  const call = await RealtimeCall.open(t, upstream.model)
  await call.ask('one')
  t.same(call.answers, ['You said one.'])
  fails = { type: 'invalid_request_error', code: 'bad_thing' }
  await call.ask('two')
  t.match(call.all('response.end').at(-1), { error: { code: 'RUN_ERR_MODEL_FAILED' } })
  await call.ask('three')
  t.equal(call.answers.at(-1), 'You said three.')
})

t.test('a response that is never done fails in time, and the next turn is answered', async (t) => {
  const upstream = await startRealtimeServer(t, {
    reply: (asked) => (asked.text === 'one' ? { text: 'Half', hangs: true } : echo(asked)),
    receive: ({ type }) => type !== 'response.cancel'
  })
  const call = await RealtimeCall.open(t, upstream.model, { times: { response: 1_000 } })
  await call.ask('one')
  t.match(call.all('response.end'), [{ error: { code: 'RUN_ERR_TOKEN_TIMEOUT' } }])
  await call.ask('two')
  t.equal(call.answers[1], 'You said two.')
  t.match(call.all('reconnect'), [{ reason: 'unresponsive' }])
})

t.test('a connection is not replaced in the middle of an answer', async (t) => {
  const upstream = await startRealtimeServer(t, { reply: echo })
  const call = await RealtimeCall.open(t, upstream.model, { play() {}, times: { session: 200 } })
  const generated = call.next('answer.end')
  call.speak('one')
  await generated
  const [first] = upstream.connections
  await upstream.ready(2)
  t.same(upstream.connections[1]?.items, [])
  t.equal(first?.isOpen, true)
  const end = call.next('response.end')
  call.engine.delivered({ ms: 0, text: '' })
  await end
  await upstream.arrived('conversation.item.create', 2)
  t.match(upstream.connections.at(-1)?.items, [{ text: 'one' }, { text: 'You said one.' }])
})

t.test('a call ends when the model is gone for good', async (t) => {
  const upstream = await startRealtimeServer(t, {
    reply: echo,
    handshake: (index) => (index === 0 ? 101 : 503)
  })
  const call = await RealtimeCall.open(t, upstream.model)
  await call.ask('one')
  const fatal = call.next('error')
  const end = call.next('response.end')
  call.speak('two', 0)
  call.engine.commit('u2')
  upstream.connections[0]?.cut()
  await Promise.all([fatal, end])
  t.match(call.all('error'), [{ fatal: true, error: { code: 'RUN_ERR_MODEL_FAILED' } }])
  t.match(call.all('response.end')[1], { error: { code: 'RUN_ERR_MODEL_FAILED' } })
  t.equal(upstream.handshakes, 4)
})

t.test('a provider that takes nothing is replaced', async (t) => {
  const upstream = await startRealtimeServer(t, { reply: echo })
  const call = await RealtimeCall.open(t, upstream.model)
  const reopened = call.next('reconnect')
  upstream.connections[0]?.pause()
  for (let second = 0; second < 300; second++) call.engine.append(new Int16Array(24_000))
  await reopened
  await call.ask('one')
  t.same(call.answers, ['You said one.'])
})

t.test('a tool is called once, however often the connection is cut', async (t) => {
  for (let at = 1; at < 24; at++) {
    let calls = 0
    const count = defineTool({
      name: 'count',
      description: 'Counts.',
      input: Type.Object({}),
      execute: () => ++calls
    })
    let sent = 0
    const upstream = await startRealtimeServer(t, {
      reply: ({ items }) =>
        items.some(({ type }) => type === 'function_call_output')
          ? { text: `It is ${items.findLast(({ output }) => output)?.output}.` }
          : { calls: [{ callId: 'c1', name: 'count', args: '{}' }] },
      tamper: (event) => (++sent === at ? 'cut' : [event, event])
    })
    const call = await RealtimeCall.open(t, upstream.model, { tools: [count] })
    await call.ask('go')
    t.match(call.answers, [/It is 1\.$/], `a cut at event ${at}`)
    t.equal(calls, 1)
    call.close()
  }
})

// A short form of `node bench/upstream-cuts.ts`.
t.test('no turn is lost or doubled when connections are cut at random', async (t) => {
  const seed = Number(process.env['SEED'] ?? Date.now() % 1e9)
  t.comment(`SEED=${seed}`)
  t.match(await cutUpstream(40, seed), { cuts: 40, faults: [] })
})
